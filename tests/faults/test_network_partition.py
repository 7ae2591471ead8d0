"""A real partition: a node whose network is gone, while its processes live on."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from drill_lab import Lab, why_not
from faulty import CONFIG, INPUTS, OUTPUTS
from toy_tasks import ToyChain

from distsvm import train

DRILL = Path(__file__).with_name("partition_drill.py")
TIMEOUT_S = 5.0


def start(lab: Lab, node: int, environment: dict[str, str], *words: str) -> None:
    """Start a Ray node as patient as Ray is by itself, unlike those of the kill drill."""
    command = lab.command(
        node, sys.executable, "-m", "ray.scripts.scripts", "start", "--node-ip-address",
        lab.address(node), "--object-store-memory", "100000000", "--disable-usage-stats", *words,
    )  # fmt: skip
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.drill
def test_a_node_cut_off_from_the_network_is_missed_long_before_ray_says_so():
    pytest.importorskip("ray", reason="Ray is not installed")
    reason = why_not()
    if reason:
        pytest.skip(reason)
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "RAY_raylet_start_wait_time_s": "90",
    }  # fmt: skip
    with Lab(3, n_cpus=1) as lab:
        begin = ("--head", "--port", lab.head.rpartition(":")[2], "--include-dashboard=false")
        start(lab, 0, environment, *begin, "--num-cpus", "0", "--temp-dir", str(lab.folder))
        for node in (1, 2):
            start(lab, node, environment, "--address", lab.head, "--num-cpus", "1")
        seen = drilled(lab, environment, cut=2)
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=0, **CONFIG)
    assert np.array_equal(seen["w"], expected.model.w)
    assert seen["n_oracle_calls"] == expected.n_oracle_calls
    words = ("no sign of life", "no answer after")
    assert any(word in note for note in seen["notes"] for word in words), seen["notes"]


def drilled(lab: Lab, environment: dict[str, str], cut: int) -> dict:
    words = (sys.executable, str(DRILL), lab.head, lab.address(0), str(TIMEOUT_S))
    command = lab.command(0, *words)
    drill = subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert drill.stdin is not None
    assert drill.stdout is not None
    last = ""
    try:
        for line in drill.stdout:
            last = line
            if line == "round 3\n":
                lab.unplug(cut)
                drill.stdin.write("cut\n")
                drill.stdin.flush()
        assert drill.wait(timeout=60) == 0
    finally:
        drill.kill()
    return json.loads(last)
