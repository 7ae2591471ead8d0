"""A real partition: a node whose network is gone, while its processes live on."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from faulty import CONFIG, INPUTS, OUTPUTS
from namespaces import Machine, machines, why_not
from toy_tasks import ToyChain

from distsvm import train

DRILL = Path(__file__).with_name("partition_drill.py")
TIMEOUT_S = 5.0
PORT = 6399


def node(machine: Machine, environment: dict[str, str], *words: str) -> subprocess.Popen:
    """Begin to start a Ray node in a namespace."""
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--node-ip-address", machine.address,
        "--object-store-memory", "100000000", "--disable-usage-stats", *words,
    ]  # fmt: skip
    return subprocess.Popen(
        machine.command(*command), env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def started(process: subprocess.Popen) -> None:
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0, out


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
    # a short path: those of Ray's sockets lie in it, and may have 107 characters
    with machines(3) as (head, one, other), TemporaryDirectory(prefix="dsvm") as folder:
        address = f"{head.address}:{PORT}"
        begin = ("--head", "--port", str(PORT), "--include-dashboard=false", "--num-cpus", "0")
        started(node(head, environment, *begin, "--temp-dir", folder))
        join = ("--address", address, "--num-cpus", "1")
        for machine in (one, other):
            started(node(machine, environment, *join))
        seen = drilled(head, address, environment, cut=other)
        for machine in (head, one, other):  # before the folder goes in which they write
            machine.end_all()
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=0, **CONFIG)
    assert np.array_equal(seen["w"], expected.model.w)
    assert seen["n_oracle_calls"] == expected.n_oracle_calls
    words = ("no sign of life", "no answer after")
    assert any(word in note for note in seen["notes"] for word in words), seen["notes"]


def drilled(head: Machine, address: str, environment: dict[str, str], cut: Machine) -> dict:
    command = head.command(sys.executable, str(DRILL), address, head.address, str(TIMEOUT_S))
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
                cut.cut_off()
                drill.stdin.write("cut\n")
                drill.stdin.flush()
        assert drill.wait(timeout=60) == 0
    finally:
        drill.kill()
    return json.loads(last)
