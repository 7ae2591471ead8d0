"""The live display on a real (pseudo-)terminal."""

import os
import re
import subprocess
import sys

import pytest
from cli_files import train_args

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")


def on_terminal(*words, **environment):
    """Everything that a command writes to a terminal of 60 columns, and its exit code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "LINES": "24", "TERM": "xterm", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "distsvm.cli", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
    ) as process:  # fmt: skip
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # what Linux says when the other side is closed
            pass
        os.close(ours)
    return b"".join(parts).decode(), process.returncode


def test_the_display_is_drawn_in_place_and_taken_away(files, tmp_path):
    words = train_args(files.train, "--model", tmp_path / "m")
    text, code = on_terminal(*words)
    assert code == 0
    hidden, shown = text.rfind("\x1b[?25l"), text.rfind("\x1b[?25h")
    assert hidden < shown, "the cursor stays hidden"
    drawn, summary = text[:shown], text[shown:]
    assert "loading and scanning" in drawn or "round" in drawn
    assert "exact" in summary
    lines = ESCAPES.sub("", drawn).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 60


def test_how_many_examples_are_done_is_shown_until_the_scores_come(files):
    text, code = on_terminal("evaluate", "--model", files.model, "--data", files.test)
    assert code == 0
    shown = text.rfind("\x1b[?25h")
    assert "evaluating" in text[:shown]
    assert "0 of 1 piece" in text[:shown]
    assert "accuracy" in text[shown:]


def test_nothing_is_drawn_between_predictions(files):
    words = ["predict", "--model", files.model, "--data", files.test, "--output", "-"]
    text, code = on_terminal(*words)
    assert code == 0
    assert set(text.split()) == {"1", "2", "3"}


def test_colours_can_be_turned_off(files, tmp_path):
    words = train_args(files.train, "--model", tmp_path / "m")
    text, _ = on_terminal(*words, NO_COLOR="1")
    assert "\x1b[2m" not in text
    text, _ = on_terminal(*words, "--force", TERM="dumb")
    assert "\x1b" not in text
