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


@pytest.mark.slow
@pytest.mark.drill
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack"])
@pytest.mark.parametrize("executor", ["processes", pytest.param("ray", marks=pytest.mark.ray)])
def test_a_storm_of_kills_and_stops_is_survived(executor, solver):
    if executor == "ray":
        pytest.importorskip("ray", reason="Ray is not installed")
    done = run("chaos.py", "--storm", "--executor", executor, "--solver", solver)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills survived" in done.stdout
