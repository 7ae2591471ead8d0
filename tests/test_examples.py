"""The programs in examples/ run, and are short."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_example_with_ray_tune_says_what_is_missing():
    path = ROOT / "examples" / "tune_with_ray.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    try:
        importlib.import_module("ray.tune")
    except ImportError:
        run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
        assert run.returncode == 1
        assert run.stderr.startswith('this example needs Ray Tune: pip install "ray[tune]"')
        assert "Traceback" not in run.stderr
    else:
        pytest.skip("Ray Tune is installed: the example would run for minutes")


@pytest.mark.slow
def test_a_trial_of_the_example_with_ray_tune_chooses_a_C():
    example = runpy.run_path(str(ROOT / "examples" / "tune_with_ray.py"))
    metrics = example["trial"]({"order": 1, "min_count": 2}, example["make_data"]())
    assert metrics["C"] in (8, 32, 128, 512)
    assert metrics["loss"] >= 0


def run_example(name, *arguments):
    """What an example prints; it is a short one."""
    path = ROOT / "examples" / name
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    words = [sys.executable, str(path), *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_example_of_a_task_runs_and_is_short():
    assert "eps: primal" in run_example("matching_task.py")


@pytest.mark.slow
def test_the_example_of_a_tagger_runs_and_is_short():
    shown = run_example("tag_sentences.py")
    assert "certificate exact" in shown
    assert float(re.search(r"test: (\S+) of tokens", shown).group(1)) > 0.85


@pytest.mark.slow
def test_the_example_of_a_parser_runs_and_draws_a_tree(tmp_path):
    shown = run_example("parse_trees.py", str(tmp_path / "tree.svg"))
    assert "certificate exact" in shown
    assert float(re.search(r"distsvm: F1 (\S+),", shown).group(1)) > 0.9
    assert "┴" in shown
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.slow
def test_the_example_of_an_aligner_runs_and_writes_its_matrix(tmp_path):
    shown = run_example("align_sequences.py", str(tmp_path / "matrix"))
    assert "certificate exact" in shown
    assert float(re.search(r"test: (\S+) of homologues", shown).group(1)) > 0.8
    assert len((tmp_path / "matrix").read_text(encoding="utf-8").splitlines()) == 23


@pytest.mark.slow
def test_the_example_of_topics_shows_what_the_tree_is_worth():
    shown = run_example("classify_topics.py")
    assert "exact" in shown
    found = dict(re.findall(r"(flat|tree) +features.* accuracy (\S+),", shown))
    assert float(found["tree"]) > float(found["flat"])


def test_the_example_of_a_kernel_function_runs_and_says_what_is_certified():
    shown = run_example("kernel_board.py")
    assert float(re.search(r"linear: (\S+) of", shown).group(1)) < 0.7
    assert float(re.search(r"400 basis inputs: (\S+) are right", shown).group(1)) > 0.93
    assert shown.count("certified for the low-rank problem") == 3
    objectives = [float(found) for found in re.findall(r"optimum ≤ (\S+),", shown)]
    assert objectives == sorted(objectives, reverse=True)
