"""Workers that the system really kills for want of memory: told so, moved, the same optimum."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cgroups import limited, why_not
from faulty import CONFIG, INPUTS, OUTPUTS, rounds, shared_memory
from toy_tasks import ToyChain

from distsvm import train

RUN = Path(__file__).with_name("oom_run.py")
OPTIONS = {"worker_timeout_s": 30.0}
LIMIT = 2**30  # room for a driver and two workers, and less than a worker then takes


def ended(command: list[str]) -> dict:
    """What the run has told."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
    words = [sys.executable, str(RUN), str(tmp_path), "processes", json.dumps(OPTIONS)]
    with limited(LIMIT) as group:
        seen = ended(group.command(*words))
        assert not group.processes()
    check(seen, r"signal 9 \(Killed\), as the system does for want of memory")
    assert shared_memory() <= blocks
