"""What is special about processes: scripts, signals, and ends without a close."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from distsvm.errors import ConfigError
from distsvm.executors.processes import ProcessesExecutor

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

PREAMBLE = """
import os, sys
import numpy as np
from distsvm.executors.processes import ProcessesExecutor

class Shard:
    def total(self, w):
        return float(w.sum())

def build():
    return Shard()
"""

RUN = """
executor = ProcessesExecutor(2)
executor.start([build, build])
print(executor.run("total", np.ones(100_000)))
"""


@pytest.fixture
def script(tmp_path) -> Callable[[str], subprocess.CompletedProcess]:
    def run(text: str) -> subprocess.CompletedProcess:
        path = tmp_path / "script.py"
        path.write_text(text)
        return python(str(path))

    return run


def python(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess:
    """Run Python with these arguments, and with this text on its standard input."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def guarded(text: str) -> str:
    lines = text.strip().splitlines()
    return PREAMBLE + '\nif __name__ == "__main__":\n' + "\n".join(f"    {line}" for line in lines)


def leaked(text: str) -> list[str]:
    return [name for name in text.split() if os.path.exists(f"/dev/shm/{name}")]


def test_classes_of_a_script_work_and_its_end_leaves_no_warning(script):
    done = script(guarded(RUN + "print(*executor._transport._blocks.linked)"))
    assert done.stderr == ""
    first, names = done.stdout.splitlines()
    assert first == "[100000.0, 100000.0]"
    assert names
    assert not leaked(names)


def test_arrays_that_workers_keep_for_ever_leave_no_complaint(script):
    keep = """
class Keeper:
    def keep(self, w):
        self.me, self.w = self, w
        sys.kept = w
def build_keeper():
    return Keeper()
"""
    run = """
with ProcessesExecutor(1) as executor:
    executor.start([build_keeper])
    for n in (10_000, 20_000, 10_000):
        executor.run("keep", np.ones(n))
"""
    done = script(keep + guarded(run))
    assert done.stderr == ""
    assert done.returncode == 0


def test_a_driver_that_dies_of_an_error_leaves_nothing_behind(script):
    end = 'print(*executor._transport._blocks.linked)\nraise RuntimeError("the end")'
    done = script(guarded(RUN + end))
    assert done.stderr.strip().endswith("RuntimeError: the end")
    assert "leaked" not in done.stderr
    assert not leaked(done.stdout.splitlines()[1])


def test_a_script_without_a_guard_is_told_so(script):
    done = script(PREAMBLE + RUN)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("distsvm.errors.ConfigError")
    assert '`if __name__ == "__main__":`' in last


def test_classes_typed_in_by_hand_work():
    done = python("-c", PREAMBLE + RUN)
    assert done.stderr == ""
    assert done.stdout == "[100000.0, 100000.0]\n"


@pytest.mark.parametrize("arguments", [(), ("-",)], ids=["python", "python -"])
def test_a_program_on_standard_input_works_without_a_guard(arguments):
    after = "import __main__\nprint(__main__.__file__, __main__.__spec__)\n"
    done = python(*arguments, text=PREAMBLE + RUN + after)
    assert done.stderr == ""
    assert done.stdout == "[100000.0, 100000.0]\n<stdin> None\n"


def test_local_functions_travel_and_what_cannot_is_refused_clearly():
    with ProcessesExecutor(1) as executor:
        executor.start([lambda: "local"])
        assert executor.run("upper") == ["LOCAL"]
        with pytest.raises(ConfigError, match=r"cannot be sent .* use executor='threads'"):
            executor.run("upper", threading.Lock())


def test_a_class_that_only_the_main_program_has_is_told_what_to_do(script):
    run = """
import pickle
class T:
    pass
blob = pickle.dumps(T())
class ByName:
    def __reduce__(self):
        return pickle.loads, (blob,)
with ProcessesExecutor(1) as executor:
    executor.start([build])
    executor.run("total", ByName())
"""
    last = script(guarded(run)).stderr.strip().splitlines()[-1]
    assert last.startswith("distsvm.errors.ConfigError: a worker cannot read what it was sent")
    assert "Can't get attribute 'T'" in last
    assert "in a module that worker processes can import" in last


class Interrupter:
    def __init__(self, fifo: Path) -> None:
        self.fifo = fifo

    def interrupt(self, w: np.ndarray, driver: int) -> float:
        os.kill(driver, signal.SIGINT)
        self.fifo.read_text()  # until the driver has been interrupted and writes to it
        return float(w[0])

    def first(self, w: np.ndarray) -> float:
        return float(w[0])

    def sigint(self) -> object:
        return signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    def threads(self) -> tuple[str, str]:
        return os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]

    def end(self, code: int) -> None:
        os._exit(code)


def test_after_an_interrupt_the_next_call_gets_its_own_answer(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with ProcessesExecutor(1) as executor:
        executor.start([partial(Interrupter, fifo)])
        with pytest.raises(KeyboardInterrupt):
            executor.run("interrupt", np.full(10_000, 1.0), os.getpid())
        fifo.write_text("go on")
        assert executor.run("first", np.full(10_000, 2.0)) == [2.0]
        assert executor.run("sigint") == [True]
        assert executor.run("threads") == [("1", "1")]


@pytest.mark.parametrize("verb", ["writev", "readv"])
def test_a_worker_whose_message_was_cut_off_by_an_interrupt_is_built_again(
    tmp_path, monkeypatch, verb
):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with ProcessesExecutor(1) as executor:
        executor.start([partial(Interrupter, tmp_path)])
        with monkeypatch.context() as patch:
            patch.setattr(os, verb, interrupted)
            with pytest.raises(KeyboardInterrupt):
                executor.run("first", np.ones(3))
        assert executor.run("first", np.full(3, 2.0)) == [2.0]
        assert executor.activity()[0].n_restarts == 1


def test_a_worker_that_ends_itself_is_lost_with_its_exit_code(tmp_path, caplog):
    with ProcessesExecutor(1, max_failures=1) as executor:
        executor.start([partial(Interrupter, tmp_path)])
        with pytest.raises(Exception, match="ended with code 7"):
            executor.run("end", 7)
    assert "ended with code 7; building it again" in caplog.text


def test_one_block_is_used_for_all_calls_and_all_arrays(tmp_path):
    with ProcessesExecutor(2) as executor:
        executor.start([partial(Interrupter, tmp_path)] * 2)
        linked = executor._transport._blocks.linked
        executor.run("first", np.ones(30_000))
        block = set(linked)
        executor.run("first", np.zeros(20_000))
        assert set(linked) == block
        executor.run("first", np.ones(100_000))
        assert len(linked) == 1
        assert set(linked) != block


def test_full_shared_memory_is_no_reason_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr("distsvm.executors.blocks._reserved", lambda block: False)
    with ProcessesExecutor(1) as executor:
        executor.start([partial(Interrupter, tmp_path)])
        assert executor.run("first", np.ones(30_000)) == [1.0]
        assert not executor._transport._blocks.linked


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
def test_workers_do_not_outlive_a_killed_driver(tmp_path):
    """Even in the middle of a call: the worker waits at a pipe that nobody opens."""
    fifo, out = tmp_path / "fifo", tmp_path / "out"
    os.mkfifo(fifo)
    os.mkfifo(out)
    text = f"""
class Waiting:
    def wait(self):
        open({str(out)!r}, "w").write(str(os.getpid()))
        open({str(fifo)!r}).read()
def build_waiting():
    return Waiting()
if __name__ == "__main__":
    executor = ProcessesExecutor(1)
    executor.start([build_waiting])
    executor.run("wait")
"""
    path = tmp_path / "script.py"
    path.write_text(PREAMBLE + text)
    driver = subprocess.Popen([sys.executable, str(path)], env=ENVIRONMENT)
    try:
        worker = os.pidfd_open(int(out.read_text()))
    finally:
        driver.kill()
        driver.wait()
    try:
        ended, _, _ = select.select([worker], [], [], 30)
    finally:
        os.close(worker)
    assert ended
