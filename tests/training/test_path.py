"""Paths of C: every value's certificate holds, and what is asked for is done or refused."""

import math

import numpy as np
import pytest
from path_examples import PROBLEMS, SERIAL, SOLVERS, Models, StopIn, chains, classes
from toy_tasks import ToyChain, all_planes, primal, toy_chains

from distsvm import path, train
from distsvm.errors import ConfigError
from distsvm.training.path import FACTORS


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.drill), True])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_point_holds_the_optimum_that_a_cold_run_finds(solver, problem, weighted, rescaling):
    task, X, y = PROBLEMS[problem]()
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    config = {"solver": solver, "rescaling": rescaling, "n_shards": 3, "eps": 0.05, **SERIAL}
    if rescaling not in task.rescalings:
        pytest.skip(f"{problem} has no {rescaling} rescaling")
    base = train(task, X, y, weight=weight, max_rounds=1, **config).C
    Cs = [base * factor for factor in (0.01, 0.1, 0.3, 1.0)]
    found = path(task, X, y, Cs=Cs, weight=weight, **config)
    assert [point.C for point in found.points] == Cs
    for point in found.points:
        alone = train(task, X, y, C=point.C, weight=weight, **config)
        assert (point.certificate, point.stop_reason) == ("exact", "eps")
        assert point.gap <= point.C * alone.eps
        # Two intervals with one optimum in common overlap.
        room = 1e-9 * abs(alone.primal)
        assert point.dual <= alone.primal + room
        assert alone.dual <= point.primal + room


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_primal_of_every_value_is_that_of_its_own_model(solver):
    inputs, outputs = toy_chains(n=30, seed=3)
    planes, models = all_planes(ToyChain(), inputs, outputs, "margin"), Models()
    path(ToyChain(), inputs, outputs, Cs=[0.1, 0.12, 1, 30], solver=solver, callbacks=[models],
         **SERIAL)  # fmt: skip
    for result in models.found:
        own = primal(planes, result.model.w, result.C)
        assert math.isclose(own, result.primal, rel_tol=1e-9)


def test_the_default_values_lie_around_the_default_C():
    task, X, y = classes()
    default = train(task, X, y, max_rounds=1, **SERIAL).C
    found = path(task, X, y, max_rounds=1, **SERIAL)
    assert [point.C for point in found.points] == pytest.approx(default * FACTORS)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("executor", "n_workers"),
    [("threads", 3), ("processes", 2), pytest.param("ray", 2, marks=pytest.mark.ray)],
)
def test_every_executor_gives_the_same_bits(solver, executor, n_workers, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    task, X, y = chains()
    config = {"Cs": [0.1, 1.0, 10.0], "solver": solver, "n_shards": 4}
    config["n_blocks"] = 1 if solver == "n-slack" else 2  # it has a slack for each example
    config["validation"] = list(zip(X, y, strict=True))
    one, many = Models(), Models()
    a = path(task, X, y, executor="serial", callbacks=[one], **config)
    b = path(task, X, y, executor=executor, n_workers=n_workers, callbacks=[many], **config)
    for first, second in zip(one.found, many.found, strict=True):
        assert np.array_equal(first.model.w, second.model.w)
    assert timeless(a) == timeless(b)
    assert np.array_equal(a.model.w, b.model.w)


def timeless(result):
    points = result.summary()["points"]
    return [{k: v for k, v in point.items() if k != "seconds"} for point in points]


def test_limits_hold_for_each_value():
    task, X, y = chains()
    found = path(task, X, y, Cs=[1.0, 10.0, 100.0], eps=0.0, max_rounds=3, **SERIAL)
    assert [(p.n_rounds, p.stop_reason) for p in found.points] == [(3, "max_rounds")] * 3
    found = path(task, X, y, Cs=[1.0, 10.0], solver="multi-plane", max_rounds=1, **SERIAL)
    assert [p.certificate for p in found.points] == ["exact", "exact"]


def test_an_interrupted_path_keeps_what_it_has():
    task, X, y = classes()
    found = path(task, (X, y), validation=(X, y), callbacks=[StopIn(3)], eps=1e-5, **SERIAL)
    assert [p.stop_reason for p in found.points][1:] == ["eps", "interrupted"]
    assert found.model is not None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [1.0, -2.0]}, "Cs has -2.0"),
        ({"Cs": [0.0]}, "Cs has 0.0"),
        ({"Cs": [math.inf]}, "Cs has inf"),
        ({"Cs": [math.nan, 1.0]}, "Cs has nan"),
        ({"Cs": ["a"]}, "expected numbers > 0"),
        ({"Cs": 3.0}, "expected numbers > 0"),
        ({"cv": 1}, "cv=1: expected a whole number ≥ 2"),
        ({"cv": 2.5}, "cv=2.5"),
        ({"cv": True}, "cv=True"),
        ({"cv": 31}, "cv=31: there are only 30 examples"),
        ({"cv": 3, "validation": toy_chains(5)}, "cv and validation are both given"),
        ({"C": 1.0}, "C=1.0: a path takes its values as Cs"),
        ({"C_per_example": 1.0}, "C_per_example=1.0"),
        ({"run_dir": "r"}, "run_dir='r': a path has no run folder"),
        ({"depth": 3}, "unknown parameter 'depth'"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    task, X, y = chains()
    with pytest.raises(ConfigError) as error:
        path(task, X, y, **SERIAL | wrong)
    assert message in str(error.value)


def test_no_task_is_refused():
    with pytest.raises(ConfigError, match="expected an instance"):
        path(ToyChain, *toy_chains(5), Cs=[1.0], **SERIAL)


def test_values_are_taken_in_increasing_order_and_once():
    task, X, y = chains()
    found = path(task, X, y, Cs=(10, 1, 10.0, 3), max_rounds=1, **SERIAL)
    assert [point.C for point in found.points] == [1.0, 3.0, 10.0]
