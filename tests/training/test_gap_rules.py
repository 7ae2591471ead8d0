"""Of eps and rel_gap one given alone is the only rule of the gap; of both, the first that holds."""

import json

import pytest
from run_examples import go, kept_history
from saved_problems import PROBLEMS, SOLVERS

from distsvm import MulticlassSVC, MulticlassTask, path, resume, train
from distsvm.cuts.bounds import Target
from distsvm.data.writers import write_svmlight
from distsvm.report import write_report
from distsvm.training.config import TrainConfig

X, Y = PROBLEMS["multiclass"]()[1:3]
SERIAL = {"executor": "serial", "n_shards": 3}


def relative(result):
    return result.gap / abs(result.primal)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_rel_gap_alone_is_reached_by_every_solver_and_task(name, solver):
    problem = PROBLEMS[name]()
    result = train(
        problem.task, problem.inputs, problem.outputs, solver=solver, rel_gap=1e-4,
        **problem.options, **SERIAL,
    )  # fmt: skip
    assert result.stop_reason == "rel_gap"
    assert relative(result) <= 1e-4
    assert (result.eps, result.rel_gap) == (None, 1e-4)


@pytest.mark.parametrize(
    "config",
    [{"cache_size": 5}, {"cache_size": 5, "refresh_fraction": 0.3}, {"n_blocks": 3},
     {"stabilise": 1.0}, {"qp": "line-search", "rel_gap": 0.01}, {"solver": "multi-plane"},
     {"solver": "multi-plane", "n_shards": 1, "ask_share": 1.0}],
)  # fmt: skip
def test_rel_gap_alone_is_reached_on_every_road(config):
    settings = {"solver": "one-slack", "rel_gap": 1e-4, **SERIAL} | config
    result = train(MulticlassTask(), X, Y, **settings)
    assert result.stop_reason == "rel_gap"
    assert relative(result) <= settings["rel_gap"]


def test_an_estimator_with_rel_gap_alone_goes_beyond_the_default_eps():
    fitted = MulticlassSVC(rel_gap=1e-4, executor="serial").fit(X, Y)
    by_default = MulticlassSVC(executor="serial").fit(X, Y)
    assert relative(fitted.result_) <= 1e-4 < relative(by_default.result_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loose_rel_gap_is_not_overshot_by_the_default_eps(solver):
    loose = train(MulticlassTask(), X, Y, solver=solver, rel_gap=0.3, **SERIAL)
    assert loose.stop_reason == "rel_gap"
    assert loose.gap > 1e-3 * loose.C


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rel_gap", [0.9, 1.0, 7.0])
def test_a_coarse_rel_gap_ends_a_run(solver, rel_gap):
    result = train(MulticlassTask(), X, Y, solver=solver, rel_gap=rel_gap, **SERIAL)
    assert result.stop_reason == "rel_gap"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("eps", "rel_gap", "first"),
    [(0.1, 1e-6, "eps"), (1e-6, 0.1, "rel_gap"), (0.0, 1e-3, "rel_gap"), (None, None, "eps")],
)
def test_of_both_rules_the_first_that_holds_ends_the_run(solver, eps, rel_gap, first):
    result = train(MulticlassTask(), X, Y, solver=solver, eps=eps, rel_gap=rel_gap, **SERIAL)
    assert result.stop_reason == first
    assert (result.eps, result.rel_gap) == (1e-3 if eps is rel_gap else eps, rel_gap)


@pytest.mark.parametrize("limit", [{"max_rounds": 3}, {"max_seconds": 1e-9}])
def test_limits_hold_beside_a_rel_gap(limit):
    result = train(MulticlassTask(), X, Y, rel_gap=1e-12, **limit, **SERIAL)
    assert result.stop_reason == next(iter(limit))


def test_the_working_eps_is_that_of_the_end():
    target, C, primal = Target(rel_gap=0.2), 10.0, 50.0
    assert target.working_eps(C, dual=40.0) * C == pytest.approx(0.2 * primal)
    assert Target(0.5, 0.2).working_eps(C, dual=0.0) == 0.5
    assert Target(0.0).working_eps(C, dual=40.0) == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_value_of_a_path_reaches_the_rel_gap(solver):
    found = path(MulticlassTask(), X, Y, Cs=[1.0, 30.0], solver=solver, rel_gap=1e-4, **SERIAL)
    for point in found.points:
        assert (point.stop_reason, point.eps, point.rel_gap) == ("rel_gap", None, 1e-4)
        assert point.gap <= 1e-4 * point.primal


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_new_rule_takes_the_place_of_the_one_that_ended_a_run(solver, tmp_path):
    write_svmlight(tmp_path / "d.svm", X, Y)
    run_dir = tmp_path / "run"
    config = {"solver": solver, **SERIAL}
    first = train(MulticlassTask(), tmp_path / "d.svm", eps=0.1, run_dir=run_dir, **config)
    second = resume(run_dir, rel_gap=1e-4)
    assert (first.stop_reason, second.stop_reason) == ("eps", "rel_gap")
    assert (second.eps, second.rel_gap) == (None, 1e-4)
    assert relative(second) <= 1e-4
    third = resume(run_dir, eps=0.0, rel_gap=1e-6)
    assert (third.stop_reason, third.eps) == ("rel_gap", 0.0)


def test_what_is_not_given_anew_stays_when_a_run_is_resumed():
    stored = TrainConfig(eps=0.1, rel_gap=0.2)
    assert stored.kept({"max_rounds": 3}) == stored.as_dict()
    kept = stored.kept({"rel_gap": None})
    assert kept["eps"] == 0.1
    kept = stored.kept({"eps": 0.01})
    assert (kept["eps"], kept["rel_gap"]) == (None, None)


def test_a_folder_records_that_a_run_has_no_eps(tmp_path):
    go(tmp_path / "run", eps=None, rel_gap=1e-3)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["stop_reason"], result["eps"], result["rel_gap"]) == ("rel_gap", None, 1e-3)
    assert kept_history(tmp_path / "run")
    page = write_report(tmp_path / "run").read_text()
    assert "rel_gap = 0.001" in page
    assert "the target C·eps" not in page
