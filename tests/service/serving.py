"""A real service on loopback: its own folder, process and token."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from distsvm.service import Client
from distsvm.service.child import Alive


class NotServed(Exception):
    """The service refused to start."""


class Served:
    """One `distsvm service` process, its folder of runs and a client."""

    def __init__(self, home: Path, data: Path, *words: str) -> None:
        self.home, self.data, self.words = home, data, words
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "distsvm.cli", "--json", "service", "--runs", str(self.home),
             "--data", str(self.data), "--port", "0", *self.words],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        assert line, "the service did not start"
        self.said = json.loads(line)
        if "address" not in self.said:
            raise NotServed(self.said["message"])
        self.address = self.said["address"]
        self.token = (self.home / ".service" / "token").read_text().strip()
        self.client = Client(self.address, self.token)

    def end(self, kind: int = signal.SIGTERM) -> None:
        self.process.send_signal(kind)
        self.process.wait(30)
        self.process.stdout.close()

    def wait(self, name: str, *states: str) -> dict:
        """Wait for a state by the stream of events."""
        for event in self.client.events(name):
            if event.kind == "state" and event.data["state"] in states:
                return event.data
        raise AssertionError(f"{name} never was {states}")

    def end_all(self) -> None:
        if self.process.poll() is None:
            self.end()
        for folder in self.home.iterdir():
            if Alive(folder).held:  # ended by its id, which its folder has
                pid = json.loads((folder / "state.json").read_text())["pid"]
                os.kill(pid, signal.SIGKILL)
                while Alive(folder).held:
                    time.sleep(0.01)


def write_rows(path: Path, n: int = 60, n_classes: int = 3, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 4)) + 2 * np.eye(n_classes, 4)[y]
    lines = [
        f"{c} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x))
        for x, c in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


HELD = f"{Path(__file__).with_name('held_task.py')}:Held"


def service_of(path: Path):
    """Yield a service whose runs and data are below a folder, and end it with its runs."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    data, home = path / "data", path / "runs"
    data.mkdir()
    home.mkdir()
    write_rows(data / "rows.svm")
    found = Served(home, data, "--tasks", HELD)
    yield found
    found.end_all()


class HeldRun:
    """The options of a run that goes on until it is let go."""

    def __init__(self, data: Path) -> None:
        self.path = data / "hold"
        self.path.touch()
        examples = [
            {"x": [x, str(self.path)], "y": y}
            for x, y in ((1.0, 1), (2.0, -1), (-1.0, -1), (3.0, 1))
        ]
        lines = [json.dumps(one) + "\n" for one in examples]
        (data / "held.jsonl").write_text("".join(lines))
        paths = [str(data / "held.jsonl")]
        self.options = {"task": HELD, "data": paths, "executor": "serial"}

    def let_go(self) -> None:
        self.path.unlink()
