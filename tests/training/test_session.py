"""A run's folder has one writer, and tells everybody what has become of the run."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from run_examples import StopAfter, go
from toy_tasks import ToyChain

from distsvm import Callback
from distsvm.errors import CheckpointError, StoreError, TaskError
from distsvm.model import load_model
from distsvm.training import session as sessions
from distsvm.training.run_folder import RunFolder
from distsvm.training.run_state import LOCK, STATE, ask_to_stop, last_round, read_state
from distsvm.training.session import Session


def altered(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def dead_pid():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def held(tmp_path):
    """A folder that a session of this process holds."""
    session = Session(tmp_path / "run")
    session.take()
    yield session
    session.end()


class Raises(Callback):
    def __init__(self, error):
        self.error = error

    def on_round(self, record):
        raise self.error


# --- what is told --------------------------------------------------------------------------


def test_the_state_has_the_end_of_a_run(tmp_path):
    assert go(tmp_path / "a").stop_reason == "eps"
    state = read_state(tmp_path / "a")
    assert (state.state, state.stop_reason, state.error) == ("finished", "eps", None)
    go(tmp_path / "b", max_rounds=2)
    assert (read_state(tmp_path / "b").state, last_round(tmp_path / "b").number) == ("stopped", 2)
    assert not (tmp_path / "b" / LOCK).exists()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), ("stopped", "aborted", None)),
        (
            TaskError("example 3: no"),
            ("failed", None, {"kind": "TaskError", "message": "example 3: no"}),
        ),
        (ZeroDivisionError("x"), ("failed", None, {"kind": "ZeroDivisionError",
                                                   "message": "ZeroDivisionError('x')"})),
    ],
)  # fmt: skip
def test_the_state_has_the_error_of_a_failed_run(tmp_path, error, expected):
    with pytest.raises(type(error)):
        go(tmp_path / "run", callbacks=[Raises(error)])
    state = read_state(tmp_path / "run")
    assert (state.state, state.stop_reason, state.error) == expected
    assert go(tmp_path / "run", resume=True).stop_reason == "eps"
    assert read_state(tmp_path / "run").state == "finished"


def test_a_refused_continuation_leaves_the_state_as_it_was(tmp_path):
    go(tmp_path / "run")
    before = (tmp_path / "run" / STATE).read_text()
    with pytest.raises(CheckpointError, match="C=20"):
        go(tmp_path / "run", resume=True, C=3.0)
    assert (tmp_path / "run" / STATE).read_text() == before


def test_the_state_of_a_folder_without_a_state_file_is_that_of_its_result(tmp_path):
    go(tmp_path / "run", max_rounds=2)
    (tmp_path / "run" / STATE).unlink()
    assert read_state(tmp_path / "run").state == "stopped"
    (tmp_path / "run" / "result.json").unlink()
    assert read_state(tmp_path / "run").state == "lost"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": 3, "seen": "x"}'])
def test_a_damaged_state_is_ignored(tmp_path, text):
    go(tmp_path / "run", max_rounds=2)
    (tmp_path / "run" / STATE).write_text(text)
    assert read_state(tmp_path / "run").state == "stopped"


def test_the_last_whole_round_is_found_behind_half_a_line(tmp_path):
    assert last_round(tmp_path) is None
    go(tmp_path / "run", max_rounds=3)
    path = tmp_path / "run" / "history.jsonl"
    with open(path, "a") as file:
        file.write('{"number": 4, "ki')
    assert last_round(tmp_path / "run").number == 3
    path.write_text("half")
    assert last_round(tmp_path / "run") is None


# --- one writer ----------------------------------------------------------------------------


def test_a_running_run_cannot_be_resumed(tmp_path):
    class ResumesAgain(Callback):
        def on_round(self, record):
            with pytest.raises(CheckpointError, match=r"in use by a run: process \d+"):
                go(tmp_path / "run", resume=True)
            assert read_state(tmp_path / "run").state == "running"
            return True

    assert go(tmp_path / "run", callbacks=[ResumesAgain()]).stop_reason == "interrupted"
    assert go(tmp_path / "run", resume=True).stop_reason == "eps"


@pytest.mark.parametrize("left", [None, "dead"])
def test_of_many_that_want_a_folder_one_gets_it(tmp_path, left):
    if left == "dead":
        first = Session(tmp_path / "run")
        first.take()
        first.end()
        (tmp_path / "run" / LOCK).write_text((tmp_path / "run" / STATE).read_text())
        altered(tmp_path / "run" / LOCK, pid=dead_pid())
    start, won, refused = threading.Barrier(8), [], []

    def want():
        session = Session(tmp_path / "run")
        start.wait()
        try:
            session.take()
            won.append(session)
        except CheckpointError:
            refused.append(session)

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)
    won[0].end()
    assert {p.name for p in (tmp_path / "run").iterdir()} == {STATE}


def test_a_dead_process_of_this_host_is_lost_at_once(held):
    for name in (LOCK, STATE):
        altered(held.folder / name, pid=dead_pid(), born=None)
    assert read_state(held.folder).state == "lost"
    other = Session(held.folder)
    other.take()
    other.end()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells")
def test_a_zombie_process_is_lost(held):
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    process.stdout.read()  # until it has closed its side, at its end
    while read_state(held.folder).state != "lost":  # the last steps of its end take a moment
        for name in (LOCK, STATE):
            altered(held.folder / name, pid=process.pid, born=None)
    process.communicate()


def test_another_process_with_the_number_of_the_dead_one_is_not_taken_for_it(held):
    for name in (LOCK, STATE):
        altered(held.folder / name, born=1)
    assert read_state(held.folder).state == "lost"


def test_a_process_of_another_host_is_lost_when_there_was_no_sign_of_it_for_a_minute(held):
    for name in (LOCK, STATE):
        altered(held.folder / name, host="elsewhere")
    assert read_state(held.folder).state == "running"
    with pytest.raises(CheckpointError, match=r"on elsewhere, last sign of life \d+ s ago"):
        Session(held.folder).take()
    altered(held.folder / STATE, seen=time.time() - 61)
    assert read_state(held.folder).state == "lost"
    other = Session(held.folder)
    other.take()
    other.end()


def test_a_holder_that_counted_as_gone_writes_nothing_more(monkeypatch, tmp_path):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)
    folder = RunFolder(tmp_path / "run")
    folder.lock()
    altered(folder.path / LOCK, token="another", host="elsewhere")
    folder._session._thread.join(60)
    with pytest.raises(CheckpointError, match=r"taken over by another process .* on elsewhere"):
        folder._session.check()
    before = (folder.path / STATE).read_text()
    folder.close()
    assert (folder.path / STATE).read_text() == before
    assert (folder.path / LOCK).exists()


def test_a_damaged_lock_excludes_no_process_and_leftovers_are_removed(tmp_path):
    (tmp_path / LOCK).write_text("{")
    (tmp_path / f".{LOCK}-abc.part.part").write_text("{")
    session = Session(tmp_path)
    session.take()
    session.end()
    assert {p.name for p in tmp_path.iterdir()} == {STATE}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": 3}'])
def test_a_lock_that_cannot_be_read_is_no_takeover(held, text):
    whole = (held.folder / LOCK).read_text()
    (held.folder / LOCK).write_text(text)
    assert "no sign of life can be written" in held._problem()
    held.check()
    with pytest.raises(CheckpointError, match="in use by a run"):
        Session(held.folder).take()
    (held.folder / LOCK).write_text(whole)
    assert held._problem() is None


def test_a_lock_that_was_deleted_is_made_again(held):
    whole = (held.folder / LOCK).read_text()
    (held.folder / LOCK).unlink()
    assert "was gone, and is made again" in held._problem()
    held.check()
    assert (held.folder / LOCK).read_text() == whole


def test_want_of_memory_is_no_takeover(held, monkeypatch):
    def fail(*_):
        raise MemoryError("no memory")

    monkeypatch.setattr(sessions, "read_json", fail)
    assert "no memory" in held._problem()
    held.check()


def test_a_run_whose_folder_was_deleted_keeps_its_model_elsewhere(tmp_path, caplog):
    class Deletes(Callback):
        def on_round(self, record):
            if record.number == 2:
                shutil.rmtree(tmp_path / "run")

    with pytest.raises(StoreError, match="the folder of the run is gone") as caught:
        go(tmp_path / "run", callbacks=[Deletes()], max_rounds=4)
    kept = re.search(r"its model is in (\S+),", str(caught.value))[1]
    assert load_model(kept, ToyChain).facts["n_rounds"] == 4
    assert not (tmp_path / "run").exists()
    assert "taken over" not in caplog.text
    shutil.rmtree(Path(kept).parent)


def test_a_session_reports_that_its_folder_is_gone(held):
    shutil.rmtree(held.folder)
    assert held._problem() == f"{held.folder}: the folder of the run is gone"
    held.check()


def test_a_request_to_stop_ends_the_run_after_its_round(monkeypatch, tmp_path):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class Asks(Callback):
        def on_round(self, record):
            ask_to_stop(tmp_path / "run")

    result = go(tmp_path / "run", callbacks=[Asks()], eps=0.0, C=1e6, stabilise=1.0)
    assert result.stop_reason == "interrupted"
    monkeypatch.undo()
    again = go(tmp_path / "run", resume=True, callbacks=[StopAfter(result.n_rounds + 2)],
               eps=0.0, C=1e6, stabilise=1.0)  # fmt: skip
    assert again.n_rounds == result.n_rounds + 2  # the old request is forgotten
