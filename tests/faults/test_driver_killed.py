"""The driver killed at any moment, also in the middle of a checkpoint, and the run resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from faulty import CONFIG, INPUTS, OUTPUTS, Faulty, shared_memory
from toy_tasks import ToyChain

from distsvm import MulticlassTask, train
from distsvm.data.synthetic import make_multiclass, write_parts

N_KILLS = {"one-slack": 10, "multi-plane": 4, "n-slack": 4, "sequential-dual": 5}
OWN = {"one-slack": {"cache_size": 3}, "multi-plane": {"penalty": "quadratic"}}

# Every kill is at another call of one of these: before or after a file or folder is renamed,
# synced or removed. A fork for each, because starting Python takes longer than the run.
DRILL = """
import json, os, random, shutil, signal, sys
from pathlib import Path
from distsvm import MulticlassTask, resume, train

data, home, n_kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
config = dict(executor="serial", C=2.0, eps=1e-2, n_shards=2, checkpoint_rounds=2,
              checkpoint_share=1, **json.loads(sys.argv[4]))
calls = ("replace", "rename", "fsync", "mkdir", "rmdir", "open")

def in_a_fork(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]

def killed_at(number, after):
    def work():
        count = 0
        def watched(real):
            def call(*args, **kwargs):
                nonlocal count
                count += 1
                if count == number and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                done = real(*args, **kwargs)
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done
            return call
        for name in calls:
            setattr(os, name, watched(getattr(os, name)))
        go_on()
        Path(home, "count").write_text(str(count))
    return work

def go_on():
    if (home / "run" / "run.json").exists():
        resume(home / "run")
    else:
        train(MulticlassTask(), data, run_dir=home / "run", **config)

train(MulticlassTask(), data, **config)  # so that no fork has to load the kernels
in_a_fork(killed_at(0, False))
total = int(Path(home, "count").read_text())
shutil.rmtree(home / "run")
draw = random.Random(0)
points = sorted(draw.sample(range(1, total + 1), n_kills))
for number in points:
    status = in_a_fork(killed_at(number, draw.random() < 0.5))
    assert os.WTERMSIG(status) == signal.SIGKILL, (number, status)
    in_a_fork(killed_at(draw.randrange(1, total // 2), False))  # and the continuation, too
    in_a_fork(go_on)
    os.rename(home / "run", home / f"run-{number}")
print(json.dumps(points))
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    X, y = make_multiclass(60, 5, 3, noise=0.3, seed=0)
    write_parts(folder, X, y, 2, "svmlight")
    return folder


def python(*arguments: object, **options: object) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("solver", N_KILLS)
def test_a_run_killed_at_any_call_that_touches_its_folder_goes_on_with_the_same_bits(
    solver, data, tmp_path
):
    own = {"solver": solver, **OWN.get(solver, {})}
    drill = python("-c", DRILL, data, tmp_path, N_KILLS[solver], json.dumps(own))
    out, err = drill.communicate(timeout=280)
    assert drill.returncode == 0, err
    expected = train(MulticlassTask(), data, executor="serial", C=2.0, eps=1e-2, n_shards=2, **own)
    points = json.loads(out)
    assert len(points) == N_KILLS[solver]
    for number in points:
        run = tmp_path / f"run-{number}"
        result = json.loads((run / "result.json").read_text())
        assert (result["primal"], result["dual"]) == (expected.primal, expected.dual), number
        assert result["n_oracle_calls"] == expected.n_oracle_calls
        assert not [path for path in run.rglob("*") if path.name.endswith((".part", ".old"))]


SLEEPER = """
import sys
from faulty import Faulty
from distsvm import train
from faulty import CONFIG, INPUTS, OUTPUTS

if __name__ == "__main__":
    train(Faulty(folder=sys.argv[1], how="hang"), INPUTS, OUTPUTS, executor=sys.argv[3],
          n_workers=2, run_dir=sys.argv[2], checkpoint_rounds=1, checkpoint_share=1,
          cache_size=0, **CONFIG)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("executor", ["processes", pytest.param("ray", marks=pytest.mark.ray)])
def test_a_driver_killed_while_its_workers_work_leaves_none_and_can_be_resumed(
    executor, tmp_path, request, monkeypatch
):
    """The victim's number comes through a pipe when it is in the middle of an oracle call."""
    if executor == "ray":
        ray = request.getfixturevalue("ray_session")
        monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
    marks, run = tmp_path / "marks", tmp_path / "run"
    marks.mkdir()
    os.mkfifo(marks / "victim")
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    blocks = shared_memory()
    driver = python(tmp_path / "sleeper.py", marks, run, executor)
    try:
        worker = psutil.Process(int((marks / "victim").read_text()))
        family = {worker, *psutil.Process(driver.pid).children(recursive=True)}
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    _, left = psutil.wait_procs(family, timeout=60)
    assert not left
    assert shared_memory() <= blocks
    task = Faulty(folder=str(marks), how="hang")
    result = train(task, INPUTS, OUTPUTS, executor="serial", run_dir=run, resume=True,
                   checkpoint_rounds=1, checkpoint_share=1, cache_size=0, **CONFIG)  # fmt: skip
    whole = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=0, **CONFIG)
    assert np.array_equal(result.model.w, whole.model.w)
