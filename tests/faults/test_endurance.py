"""The benchmarks of endurance, short: they end with an error if anything grows or differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *words], capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_short_soak_is_flat():
    done = run("soak.py", "--examples", "300", "--minutes", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "n_blocks, last tenth against the second: 1.000" in done.stdout


@pytest.mark.slow
def test_random_kills_change_no_optimum():
    done = run("chaos.py", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills survived" in done.stdout
