"""Clusters of several nodes that something happens to, and what a run on them saw."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from namespaces import Machine, machines

HERE = Path(__file__).parent
PORT = 6399


def environment() -> dict[str, str]:
    """Of every process of a cluster: a token of its own, and the modules that tasks come from."""
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "RAY_raylet_start_wait_time_s": "90",
    }  # fmt: skip


def lose_a_node_and_the_head(folder: Path) -> dict[str, Any]:
    """What cluster_drill.py saw and printed, its exit code, and when it ended after its head."""
    own = environment()
    drill = subprocess.Popen(
        [sys.executable, str(HERE / "cluster_drill.py"), str(folder)], env=own, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, err = drill.communicate(timeout=280)
    finally:
        drill.kill()
    ended = time.time()
    seen = folder / "seen.json"
    assert seen.exists(), err
    facts = json.loads(seen.read_text())
    return facts | {
        "err": err.replace(own["RAY_AUTH_TOKEN"], "TOKEN"), "code": drill.returncode,
        "token_told": own["RAY_AUTH_TOKEN"] in err, "ended_s": ended - seen.stat().st_mtime,
    }  # fmt: skip


def cut_a_node_off(timeout_s: float) -> dict[str, Any]:
    """What partition_drill.py saw, in network namespaces, with this limit for a sign of life."""
    own = environment()
    # a short path: those of Ray's sockets lie in it, and may have 107 characters
    with machines(3) as (head, one, other), TemporaryDirectory(prefix="dsvm") as folder:
        address = f"{head.address}:{PORT}"
        begin = ("--head", "--port", str(PORT), "--include-dashboard=false", "--num-cpus", "0")
        _started(_node(head, own, *begin, "--temp-dir", folder))
        join = ("--address", address, "--num-cpus", "1")
        for machine in (one, other):
            _started(_node(machine, own, *join))
        seen = _drilled(head, address, own, timeout_s, cut=other)
        for machine in (head, one, other):  # before the folder goes in which they write
            machine.end_all()
    return seen


def _node(machine: Machine, own: dict[str, str], *words: str) -> subprocess.Popen:
    """Begin to start a Ray node in a namespace."""
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--node-ip-address", machine.address,
        "--object-store-memory", "100000000", "--disable-usage-stats", *words,
    ]  # fmt: skip
    return subprocess.Popen(
        machine.command(*command), env=own, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def _started(process: subprocess.Popen) -> None:
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0, out


def _drilled(
    head: Machine, address: str, own: dict[str, str], timeout_s: float, cut: Machine
) -> dict[str, Any]:
    script = str(HERE / "partition_drill.py")
    command = head.command(sys.executable, script, address, head.address, str(timeout_s))
    drill = subprocess.Popen(
        command, env=own, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
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


class Losses:
    """When the driver first said that a worker was lost; to be added to its loggers' filters."""

    def __init__(self) -> None:
        self.noticed_s = 0.0

    def filter(self, record: Any) -> bool:
        if "was lost" in record.getMessage() and not self.noticed_s:
            self.noticed_s = time.monotonic()
        return True
