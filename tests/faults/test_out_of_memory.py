"""Workers that the system really kills for want of memory: told so, moved, the same optimum."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from faulty import CONFIG, INPUTS, OUTPUTS, rounds, shared_memory
from scarce_memory import limited, why_not
from toy_tasks import ToyChain

from distsvm import train

RUN = Path(__file__).with_name("oom_run.py")
OPTIONS = {"worker_timeout_s": 60.0}
LIMIT = 2**30  # room for a driver and two workers, and less than a worker then takes


def words(folder: Path, executor: str) -> list[str]:
    return [sys.executable, str(RUN), str(folder), executor, json.dumps(OPTIONS)]


def ended(command: list[str]) -> dict:
    """What the run has told; whatever becomes of it, none of its processes is left."""
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
    }  # fmt: skip
    run = psutil.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = run.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        family = [run, *run.children(recursive=True)]
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=30)
        raise
    assert run.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def check(seen: dict, told: str) -> None:
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=0, **CONFIG)
    assert np.array_equal(seen["w"], expected.model.w)
    assert seen["rounds"] == [list(record) for record in rounds(expected)]
    [note] = seen["notes"]
    size = r"out of memory, with 2 shards and \d+ MB resident when it last answered"
    assert re.search(f"{size}: .*{told}.*; others take over", note), note
    assert sorted(map(len, seen["shards"])) == [0, 4]


def test_a_worker_that_the_kernel_kills_for_its_memory_gives_the_same_bits(tmp_path):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    blocks = shared_memory()
    with limited(LIMIT) as group:
        seen = ended(group.command(*words(tmp_path, "processes")))
        # the resource tracker of multiprocessing ends by itself, after the driver
        _, left = psutil.wait_procs(group.processes(), timeout=30)
        assert not left
    check(seen, r"signal 9 \(Killed\), as the system does for want of memory")
    assert shared_memory() <= blocks


@pytest.mark.ray
@pytest.mark.drill
def test_an_actor_that_rays_memory_monitor_kills_gives_the_same_bits(tmp_path):
    """The Ray is the run's own, and ends with it."""
    pytest.importorskip("ray", reason="Ray is not installed")
    check(ended(words(tmp_path, "ray")), "OutOfMemoryError: .*running low on memory")
    assert not psutil.pid_exists(int((tmp_path / "victim").read_text()))
