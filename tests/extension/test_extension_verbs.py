"""Every verb of the command line with a structure and a solver of another package."""

import json
import os
import sys

import numpy as np
import pytest
from extension_problems import problem
from fake_jobs import FakeClient
from installing import EXTENSION

import distsvm
from distsvm.cli import exits, main
from distsvm.jobs import client
from distsvm.training.run_folder import RunFolder

PAIRS = [
    ("frank-wolfe", "ring"),
    ("frank-wolfe", "multiclass"),
    ("frank-wolfe", "sequence"),
    ("one-slack", "ring"),
    ("multi-plane", "ring"),
]
EXECUTORS = ["threads", "processes", pytest.param("ray", marks=pytest.mark.ray)]
ROUNDS = "12"


def run(capsys, *words, code=exits.DONE):
    """What a command writes, checked to end with this code."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == code, capsys.readouterr().err
    return capsys.readouterr()


def numbers(run_dir):
    """The history without times and without what belongs to the place."""
    rounds = [record.as_dict() for record in RunFolder(run_dir).history()]
    place = {"seconds", "elapsed_s", "busy_s"}
    return [{k: v for k, v in each.items() if k not in place} for each in rounds]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    """Files, words for `train` and a run of all rounds in one process, by solver and task."""
    made = {}

    def get(solver, task):
        if (solver, task) not in made:
            home, given = tmp_path_factory.mktemp("whole"), problem(task)
            data = given.write(home)
            words = ["--task", task, "--data", data, *given.reading, "--solver", solver,
                     "--C", "5", "--eps", "0", "--shards", "3", "--blocks", "2"]  # fmt: skip
            here = ["--executor", "serial", "--run-dir", home / "run", "--max-rounds", ROUNDS]
            assert main(["train", *map(str, [*words, *here]), "-q"]) == exits.STOPPED_EARLY
            made[solver, task] = data, words, home / "run"
        return made[solver, task]

    return get


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("solver", "task"), PAIRS)
def test_a_run_that_was_stopped_and_resumed_has_the_bits_of_one_that_never_was(
    solver, task, executor, never_stopped, tmp_path, capsys, request
):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    _, words, whole = never_stopped(solver, task)
    place = ["--executor", executor, "--workers", "2"]
    stopped = exits.STOPPED_EARLY
    train = ["train", *words, *place, "--run-dir", tmp_path / "run"]
    run(capsys, *train, "--max-rounds", "5", code=stopped)
    run(capsys, "resume", tmp_path / "run", *place, "--max-rounds", ROUNDS, code=stopped)
    models = [distsvm.load_model(folder / "model") for folder in (whole, tmp_path / "run")]
    assert np.array_equal(models[0].w, models[1].w)
    assert numbers(tmp_path / "run") == numbers(whole)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_predictions_and_scores_are_those_of_this_process(
    executor, never_stopped, tmp_path, capsys, request
):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    data, _, whole = never_stopped("frank-wolfe", "ring")
    inputs, outputs = problem("ring").inputs, problem("ring").outputs
    model = ["--model", whole / "model", "--data", data, "--executor", executor]
    run(capsys, "predict", *model, "--output", tmp_path / "out")
    lines = (tmp_path / "out").read_text().splitlines()
    expected = distsvm.load_model(whole / "model").predict(inputs)
    assert [json.loads(line) for line in lines] == expected
    facts = json.loads(run(capsys, "evaluate", *model, "--json").out.splitlines()[-1])
    right = [a == b for a, b in zip(expected, outputs, strict=True)]
    assert facts["accuracy"] == pytest.approx(np.mean(right))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_path_has_the_bits_of_a_path_in_this_process(executor, never_stopped, capsys, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    data, _, _ = never_stopped("frank-wolfe", "ring")
    words = ["path", "--task", "ring", "--data", data, "--validation", data, "--Cs", "1,5",
             "--solver", "frank-wolfe", "--max-rounds", "4", "--shards", "3", "--json"]  # fmt: skip

    def points(*place):
        lines = run(capsys, *words, *place, code=exits.STOPPED_EARLY).out.splitlines()
        found = [record for record in map(json.loads, lines) if record["event"] == "point"]
        return [
            [point[name] for name in ("C", "primal", "dual", "validation_loss")] for point in found
        ]

    here = points("--executor", "serial")
    assert [C for C, *_ in here] == [1, 5]
    assert points("--executor", executor, "--workers", "2") == here


def test_a_job_trains_the_structure_with_the_solver(never_stopped, tmp_path, capsys, monkeypatch):
    data, _, _ = never_stopped("frank-wolfe", "ring")
    (tmp_path / "cluster").mkdir()
    cluster = FakeClient(tmp_path / "cluster")
    monkeypatch.setattr(client, "connected", lambda address: cluster)
    site = next(folder for folder in sys.path if "distsvm-extension-" in folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(EXTENSION), site, *sys.path]))
    config = tmp_path / "run.toml"
    config.write_text(
        f'task = "ring"\ndata = "{data}"\nsolver = "frank-wolfe"\nstep = "harmonic"\nC = 5\n'
        f'max-rounds = 3\nexecutor = "serial"\nrun-dir = "{tmp_path / "run"}"\n'
    )
    stopped = exits.STOPPED_EARLY
    run(capsys, "submit", config, "--address", "http://head:8265", code=stopped)
    steps = [record.own["step"] for record in RunFolder(tmp_path / "run").history()]
    assert steps == [1, 2 / 3, 1 / 2]


@pytest.mark.parametrize(("solver", "task"), PAIRS)
def test_plan_runs_and_status_read_the_run(solver, task, never_stopped, capsys):
    _, _, whole = never_stopped(solver, task)
    assert f"as in {whole}" in run(capsys, "plan", whole).out
    assert str(whole.name) in run(capsys, "runs", whole.parent).out
    (facts,) = map(json.loads, run(capsys, "status", whole, "--json").out.splitlines())
    assert facts["state"] == "stopped"


def test_warm_up_trains_the_structure_and_the_solver(capsys):
    lines = run(capsys, "warm-up", "--json").out.splitlines()
    tasks = [record["task"] for record in map(json.loads, lines) if "task" in record]
    assert tasks[-1] == "ring"
    assert len(tasks) > 1
    assert "all kernels were compiled before" in run(capsys, "warm-up").out


@pytest.mark.parametrize(("solver", "task"), PAIRS)
def test_inspect_shows_models_runs_and_checkpoints(solver, task, never_stopped, capsys):
    _, _, whole = never_stopped(solver, task)
    model = run(capsys, "inspect", whole / "model").out
    assert "exact: dual ≤ optimum ≤ primal" in model
    assert ("attraction" in model) == (task == "ring")
    for folder in (whole, max((whole / "checkpoints").iterdir())):
        facts = json.loads(run(capsys, "inspect", folder, "--json").out)
        last = facts["last_round" if folder == whole else "round"]
        assert last["solver"] == solver
        shown = [line.split() for line in run(capsys, "inspect", folder).out.splitlines()]
        steps = [line[1] for line in shown if line[:1] == ["step"]]
        assert steps == ([f"{last[solver]['step']:.3g}"] if solver == "frank-wolfe" else [])


@pytest.mark.parametrize(("solver", "task"), PAIRS)
def test_the_report_draws_the_solvers_own_columns(solver, task, never_stopped, tmp_path, capsys):
    _, _, whole = never_stopped(solver, task)
    run(capsys, "report", whole, "--output", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert solver in page
    assert ('<figure class="card" id="step">' in page) == (solver == "frank-wolfe")


def test_the_help_of_train_lists_the_options_of_other_packages(capsys):
    text = " ".join(run(capsys, "train", "--help").out.split())
    assert "solver frank-wolfe only" in text
    assert "harmonic: 2/(t + 1) in round t" in text
    assert "rings (.rings)" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--step", "big"], "--step big: expected one of exact, harmonic"),
        (["--unfit", "drop"], "--unfit is not for --task ring"),
        (["--loss-scale", "0"], "--loss-scale 0: expected a number > 0"),
        (["--rescaling", "slack"], "slack"),
        (
            ["--solver", "one-slack", "--step", "harmonic"],
            "--step is for --solver frank-wolfe, and this run's is one-slack",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_the_words_of_the_shell(
    never_stopped, tmp_path, capsys, more, message
):
    data, *_ = never_stopped("frank-wolfe", "ring")
    words = ["train", "--task", "ring", "--data", data, "--model", tmp_path / "model"]
    assert message in run(capsys, *words, *more, code=exits.USAGE).err
    assert not (tmp_path / "model").exists()


def test_a_file_of_options_has_those_of_other_packages(never_stopped, tmp_path, capsys):
    data, *_ = never_stopped("frank-wolfe", "ring")
    config = tmp_path / "run.toml"
    config.write_text(
        f'task = "ring"\ndata = ["{data}"]\nsolver = "frank-wolfe"\nstep = "harmonic"\n'
        f'C = 5\nmax-rounds = 3\nexecutor = "serial"\nmodel = "{tmp_path / "model"}"\n'
        f'run-dir = "{tmp_path / "run"}"\n'
    )
    run(capsys, "train", config, code=exits.STOPPED_EARLY)
    steps = [record.own["step"] for record in RunFolder(tmp_path / "run").history()]
    assert steps == [1, 2 / 3, 1 / 2]
    assert 'step = "harmonic"' in (tmp_path / "run" / "config.toml").read_text()
