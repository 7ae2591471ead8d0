"""A damaged run is one row that says so, and hides no other; no verb fails on it unexpectedly."""

import json
import os
import socket

import pytest
from cli_files import train_args
from structured_files import run

HOLDER = {"token": "x", "host": socket.gethostname(), "pid": os.getpid(), "born": None, "job": None}
STATE = {**HOLDER, "state": "stopped", "seen": 1}
DAMAGES = {
    "an error of text": ("state.json", {**STATE, "state": "failed", "error": "x"}),
    "no holder": ("state.json", {"seen": 1, "state": "failed", "error": "x"}),
    "a state nobody writes": ("state.json", {**STATE, "state": ["running"]}),
    "no time": ("state.json", {**STATE, "seen": float("nan")}),
    "a reason that is none": ("state.json", {**STATE, "stop_reason": {}}),
    "a pid of text": ("lock.json", {**HOLDER, "pid": "abc"}),
    "a pid of all processes": ("lock.json", {**HOLDER, "pid": -1}),
    "a pid of no machine": ("lock.json", {**HOLDER, "pid": 1 << 70}),
    "a lock of a list": ("lock.json", []),
    "limits of text": ("result.json", {"C": "x", "eps": "y"}),
    "a result of a number": ("result.json", 3),
    "no task": ("run.json", {"kind": "distsvm run", "format": 1}),
    "a task of text": ("run.json", {"kind": "distsvm run", "format": 1, "task": "x"}),
    "half a file": ("state.json", None),
    "a pipe": ("history.jsonl", None),
}


@pytest.fixture
def home(files, capsys, tmp_path):
    folder = tmp_path / "runs"
    for name in ("bad", "good"):
        run(capsys, *train_args(files.train, "--run-dir", folder / name, "--max-rounds", 2, "-q"),
            code=7)  # fmt: skip
    return folder


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_hides_no_other(name, home, capsys):
    file, content = DAMAGES[name]
    path = home / "bad" / file
    path.unlink(missing_ok=True)
    if name == "a pipe":
        os.mkfifo(path)
    else:
        path.write_text("{" if content is None else json.dumps(content))
    said = run(capsys, "runs", home)
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert "damaged" in lines["bad"]
    assert "stopped" in lines["good"]
    assert f"bad/{file} is damaged" in said.err
    told = [json.loads(line) for line in run(capsys, "runs", home, "--json").out.splitlines()]
    assert told[0]["state"] == "damaged"
    assert f"bad/{file} is damaged" in told[0]["damage"]
    assert f"bad/{file} is damaged" in run(capsys, "status", home / "bad", code=6).err
    assert "is not running" in run(capsys, "stop", home / "bad", code=6).err
