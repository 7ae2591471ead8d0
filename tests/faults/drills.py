"""Clusters of several nodes that something happens to, and what a run on them saw."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from drill_lab import Lab

HERE = Path(__file__).parent


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
    with Lab(3, n_cpus=1) as lab:
        begin = ("--head", "--port", lab.head.rpartition(":")[2], "--include-dashboard=false")
        _start(lab, 0, own, *begin, "--num-cpus", "0", "--temp-dir", str(lab.folder))
        for node in (1, 2):
            _start(lab, node, own, "--address", lab.head, "--num-cpus", "1")
        return _drilled(lab, own, timeout_s, cut=2)


def _start(lab: Lab, node: int, own: dict[str, str], *words: str) -> None:
    """Start a Ray node as patient as Ray is by itself, unlike those of the kill drill."""
    command = lab.command(
        node, sys.executable, "-m", "ray.scripts.scripts", "start", "--node-ip-address",
        lab.address(node), "--object-store-memory", "100000000", "--disable-usage-stats", *words,
    )  # fmt: skip
    done = subprocess.run(command, env=own, text=True, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def _drilled(lab: Lab, own: dict[str, str], timeout_s: float, cut: int) -> dict[str, Any]:
    words = (str(HERE / "partition_drill.py"), lab.head, lab.address(0), str(timeout_s))
    drill = subprocess.Popen(
        lab.command(0, sys.executable, *words), env=own, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
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


class Losses:
    """When the driver first said that a worker was lost; to be added to its loggers' filters."""

    def __init__(self) -> None:
        self.noticed_s = 0.0

    def filter(self, record: Any) -> bool:
        if "was lost" in record.getMessage() and not self.noticed_s:
            self.noticed_s = time.monotonic()
        return True
