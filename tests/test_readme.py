"""What the README says runs, runs."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distsvm.testing import check_task

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(title):
    found = re.search(rf"<!-- {title} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found, title
    return found.group(1)


def test_the_ten_lines_run(capsys):
    code = block("tested: quick start")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert float(re.search(r"test accuracy (\S+)", shown).group(1)) > 0.93
    assert "exact" in shown


def test_the_task_of_the_readme_is_a_good_one(monkeypatch):
    module = type(sys)("readme_task")
    monkeypatch.setitem(sys.modules, "readme_task", module)
    exec(compile(block("tested: own task"), "README.md", "exec"), module.__dict__)
    rng = np.random.default_rng(0)
    examples = [(rng.standard_normal((3, 3, 2)), (0, 1, 2)) for _ in range(4)]
    check_task(module.Matching(dim=2), examples)


def test_ci_runs_exactly_the_test_command():
    script = ROOT / ".ci" / "run"
    assert script.exists()
    lines = script.read_text(encoding="utf-8").splitlines()
    extract = next(line for line in lines if line.startswith("command="))
    shown = subprocess.run(
        ["bash", "-c", f"{extract}\necho \"$command\""],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shown.strip() == block("test command").strip()


@pytest.mark.parametrize(
    ("title", "score", "sign"),
    [("tag sequences", "tokens right", "'T1'"), ("parse sentences", "F1", "┴")],
)
def test_the_lines_about_sequences_and_trees_run(title, score, sign, capsys):
    code = block(f"tested: {title}")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert float(re.search(rf"{score} (\S+)", shown).group(1)) > 0.8
    assert "exact" in shown
    assert sign in shown


def test_the_lines_about_choosing_C_run(capsys):
    code = block("tested: choose C")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    *points, last = capsys.readouterr().out.splitlines()
    assert len(points) == 13
    assert last.startswith("chosen C")


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
    assert metrics["C"] in (2, 8, 32)
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
