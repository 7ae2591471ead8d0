"""A real cluster of several nodes: one lost, one gained, the head lost."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from faulty import CONFIG, INPUTS, OUTPUTS
from toy_tasks import ToyChain

from distsvm import train

DRILL = Path(__file__).with_name("cluster_drill.py")


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.drill
def test_a_node_lost_a_node_gained_and_the_head_lost(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
    }  # fmt: skip
    drill = subprocess.Popen(
        [sys.executable, str(DRILL), str(tmp_path)], env=environment, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, err = drill.communicate(timeout=280)
    finally:
        drill.kill()
    assert (tmp_path / "seen.json").exists(), err
    assert drill.returncode != 0  # it ended without an answer, and did not hang
    assert environment["RAY_AUTH_TOKEN"] not in err
    seen = json.loads((tmp_path / "seen.json").read_text())

    config = {**CONFIG, "eps": 1e-7, "cache_size": 0, "executor": "serial"}
    whole = train(ToyChain(), INPUTS, OUTPUTS, **config)
    assert seen["stage"] == "joined", seen["notes"]
    assert np.array_equal(seen["w"], whole.model.w)
    assert seen["n_oracle_calls"] == whole.n_oracle_calls
    assert sorted(s for shards in seen["shards"] for s in shards) == [0, 1, 2, 3]
    assert [len(shards) for shards in seen["shards"]].count(2) == 2

    left = [psutil.Process(pid) for pid in seen["actors"] if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(left, timeout=60)[1]
    resumed = train(
        ToyChain(), INPUTS, OUTPUTS, run_dir=tmp_path / "run", resume=True, checkpoint_rounds=1,
        **config,
    )  # fmt: skip
    assert np.array_equal(resumed.model.w, whole.model.w)
