"""Runs, checkpoints and models that earlier code wrote: they load, predict and go on."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from saved_problems import PROBLEMS, SOLVERS

from distsvm import load_model, train
from distsvm.training.run_folder import RunFolder

SAVED = Path(__file__).parent.parent / "saved"
RUNS = sorted(folder.name for folder in SAVED.glob("runs-*"))
PARAMETERS = [(made, name, solver) for made in RUNS for name in PROBLEMS for solver in SOLVERS]


@pytest.fixture
def run(request, tmp_path):
    made, name, solver = request.param
    shutil.copytree(SAVED / made / f"{name}-{solver}", tmp_path / "run")
    return PROBLEMS[name](), solver, tmp_path / "run"


def test_there_are_saved_runs():
    assert RUNS


@pytest.mark.parametrize("run", PARAMETERS, indirect=True, ids=" ".join)
def test_a_saved_model_predicts_and_has_the_certified_objective(run):
    problem, _, folder = run
    model = load_model(folder / "model", type(problem.task))
    assert len(model.predict(problem.inputs)) == len(problem.inputs)
    found = json.loads((folder / "result.json").read_text())
    assert model.facts["primal"] == found["primal"]
    assert model.facts["dual"] <= model.facts["primal"]


@pytest.mark.parametrize("run", PARAMETERS, indirect=True, ids=" ".join)
def test_a_saved_run_resumes_from_its_checkpoint_to_the_optimum_of_a_new_run(run, tmp_path):
    problem, solver, folder = run
    before = RunFolder(folder).history()
    options = problem.options | {
        "n_shards": 2, "random_state": 1, "executor": "serial", "eps": 1e-4, "solver": solver,
    }  # fmt: skip
    given = problem.task, problem.inputs, problem.outputs
    result = train(*given, run_dir=folder, resume=True, **options)
    numbers = [record.number for record in result.history]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [r.dual for r in result.history[: len(before)]] == [r.dual for r in before]
    assert len(numbers) > len(before)  # or nothing went on
    assert result.stop_reason == "eps"
    new = train(*given, **options)
    for a, b in ((result, new), (new, result)):
        assert a.dual <= b.primal * (1 + 1e-12)
    assert np.isfinite(result.model.w).all()
