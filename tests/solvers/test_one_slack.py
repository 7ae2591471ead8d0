"""The 1-slack method reaches the same certified optimum by every road."""

import itertools
import math

import numpy as np
import pytest
from toy_tasks import BoundedChain, ToyChain, all_planes, primal, toy_chains

from distsvm import MulticlassTask, train
from distsvm.cuts.bounds import Target
from distsvm.solvers.base import Problem
from distsvm.solvers.one_slack import OneSlack, OneSlackOptions

INPUTS, OUTPUTS = toy_chains(n=40, seed=2)
C = 20.0


def reference(planes, C, weights=None):
    """The optimum of the whole problem, all constraints at once, by an independent solver."""
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    weights = np.ones(len(planes)) if weights is None else weights
    w = cp.Variable(planes[0][0][0].size)
    slack = cp.Variable(len(planes), nonneg=True)
    constraints = [
        slack[i] >= np.array([q for _, q in rows]) - np.array([p for p, _ in rows]) @ w
        for i, rows in enumerate(planes)
    ]
    share = weights / weights.sum()
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * (share @ slack)), constraints)
    problem.solve(solver="CLARABEL")
    return problem.value


def run(task=None, **config):
    settings = {"C": C, "eps": 1e-6, "executor": "serial", "n_shards": 5} | config
    return train(task or ToyChain(), INPUTS, OUTPUTS, **settings)


def check(result, planes, optimum, weights=None):
    assert result.certificate == "exact"
    own = primal(planes, result.model.w, result.C, weights)
    assert math.isclose(own, result.primal, rel_tol=1e-9)
    assert result.dual <= optimum * (1 + 1e-6)
    assert result.primal >= optimum * (1 - 1e-6)
    assert result.gap == result.primal - result.dual
    assert result.gap <= result.C * result.eps


ROADS = [
    {},
    {"cache_size": 0},
    {"cache_size": 2},
    {"stabilise": 1.0},
    {"stabilise": 1.0, "cache_size": 0},
    {"refresh_fraction": 0.3},
    {"refresh_fraction": 0.2, "stabilise": 1.0},
    {"n_blocks": 3},
    {"n_blocks": 5, "cache_size": 0, "stabilise": 1.0},
    {"max_cuts": 12},
    {"idle_solves": 2},
    {"qp": "cvxpy", "eps": 1e-4},
    {"qp": "line-search", "eps": 3e-3},
    {"qp": "line-search", "n_blocks": 3, "eps": 3e-3},
]


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("road", ROADS, ids=str)
def test_every_road_leads_to_the_certified_optimum(road, rescaling):
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, rescaling)
    optimum = reference(planes, C)
    result = run(rescaling=rescaling, **road)
    assert result.stop_reason == "eps"
    check(result, planes, optimum)


@pytest.mark.parametrize("factor", [1e-6, 1e-2, 1.0, 1e3, 1e6])
def test_any_C_is_solved_to_a_relative_gap(factor):
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    result = run(C=factor, eps=0, rel_gap=1e-6, max_rounds=3000)
    assert result.stop_reason in ("rel_gap", "eps")  # "eps" if the gap is 0 to the last bit
    assert result.gap <= 1e-6 * result.primal
    assert math.isclose(primal(planes, result.model.w, factor), result.primal, rel_tol=1e-9)


def test_eps_zero_ends_when_rounding_allows_no_more():
    result = run(eps=0)
    assert result.stop_reason in ("precision", "eps")  # "eps" if the gap is 0 to the last bit
    assert abs(result.gap) <= 1e-9 * result.primal


@pytest.mark.parametrize("cache_size", [0, 10])
def test_a_weight_of_two_equals_a_repeated_example(cache_size):
    weights = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)
    repeated = [i for i in range(40) for _ in range(int(weights[i]))]
    settings = {"C": C, "eps": 1e-7, "executor": "serial", "cache_size": cache_size}
    one = train(ToyChain(), INPUTS, OUTPUTS, weight=weights, **settings)
    two = train(
        ToyChain(), [INPUTS[i] for i in repeated], [OUTPUTS[i] for i in repeated], **settings
    )
    assert math.isclose(one.primal, two.primal, rel_tol=1e-5)
    np.testing.assert_allclose(one.model.w, two.model.w, atol=2e-2)
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    check(one, planes, reference(planes, C, weights), weights)


def check_history(result):
    """Bounds narrow, and only fresh rounds certify, the last one among them."""
    for before, after in itertools.pairwise(result.history):
        assert after.best_primal <= before.best_primal
        assert after.dual >= before.dual
    for record in result.history:
        assert (record.primal is not None) == (record.kind == "fresh")
        assert record.dual <= record.best_primal + 1e-12
    assert result.history[-1].kind == "fresh"


def test_bounds_narrow_and_only_fresh_rounds_certify():
    result = run(eps=1e-4)
    check_history(result)
    assert {record.kind for record in result.history} == {"fresh", "cached"}


def test_cached_cuts_are_violated_enough():
    result = run(eps=1e-4)
    last = math.inf
    for record in result.history:
        if record.kind == "fresh":
            last = max(0.0, record.own["violation"])
        else:
            assert record.own["violation"] > max(0.1 * last, 1e-4)


def test_the_cache_saves_oracle_calls():
    paper = {"stabilise": 1.0, "eps": 1e-4}
    cached, fresh = run(cache_size=10, **paper), run(cache_size=0, **paper)
    assert cached.n_cache_hits > 0 == fresh.n_cache_hits
    assert cached.n_oracle_calls < 0.5 * fresh.n_oracle_calls


@pytest.mark.parametrize("stabilise", [1.0, 0.3])
def test_asking_about_a_part_at_a_time_takes_no_more_calls_than_asking_about_all(stabilise):
    config = {"cache_size": 10, "eps": 1e-3, "stabilise": stabilise}
    parts, whole = run(refresh_fraction=0.3, **config), run(**config)
    assert parts.n_oracle_calls <= 1.2 * whole.n_oracle_calls
    assert "refreshed" in {record.kind for record in parts.history}


def test_the_last_round_allowed_certifies():
    result = run(max_rounds=6)
    assert (result.stop_reason, result.n_rounds) == ("max_rounds", 6)
    assert result.history[-1].kind == "fresh"


def test_a_bounding_oracle_gives_an_upper_bound_certificate():
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    optimum = reference(planes, C)
    result = run(task=BoundedChain(slackness=0.01), eps=0.02)
    assert result.certificate == "upper bound"
    assert result.stop_reason == "eps"
    assert result.primal >= primal(planes, result.model.w, C) - 1e-9
    assert result.dual <= optimum + 1e-9 <= result.primal + 2e-9


def test_max_cuts_bounds_the_working_set():
    result = run(max_cuts=8, eps=1e-3)
    assert max(record.own["n_cuts"] for record in result.history) <= 8


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_theory_bounds_the_rounds(rescaling):
    # ρ² and the formulas are those of theorems 5 and 6.
    rounds = run(rescaling=rescaling, eps=0.01, cache_size=0, stabilise=1.0).n_rounds
    planes = all_planes(ToyChain(), INPUTS, OUTPUTS, "margin")
    square = max(p @ p for rows in planes for p, _ in rows)
    solver = OneSlack(Problem(C, Target(0.01), rescaling), OneSlackOptions(stabilise=1.0))
    bound = solver.bound_on_rounds(1, square, 1.0)
    by_hand = max(0, math.ceil(math.log2(1 / (4 * square * C)))) + math.ceil(16 * square * C / 0.01)
    assert rounds <= bound == by_hand
    assert solver.bound_on_rounds(1, None, 1.0) is None
    assert (
        OneSlack(Problem(1e-9, Target(1.0)), OneSlackOptions(stabilise=1.0)).bound_on_rounds(
            1, 1.0, 1.0
        )
        is None
    )


def test_the_bound_on_rounds_is_that_of_theorem_5_to_the_last_round():
    # ‖x‖² = 4 with the intercept, so that ρ² = 8, and 16·ρ²·C/ε = 640.
    X = [[1, 1, 1], [1, -1, 1], [-1, 1, 1]]
    result = train(
        MulticlassTask(), np.array(X, float), [0, 1, 2], C=0.5, eps=0.1, stabilise=1.0,
        solver="one-slack", executor="serial",
    )  # fmt: skip
    assert result.bound_on_rounds == 640
    assert result.n_rounds <= 640


@pytest.mark.parametrize(
    "config",
    [{}, {"stabilise": 1.0, "n_blocks": 2}, {"stabilise": 1.0, "eps": None, "rel_gap": 0.1},
     {"stabilise": 1.0, "qp": "line-search"},
     {"solver": "multi-plane", "n_shards": 1}],
)  # fmt: skip
def test_no_bound_on_rounds_is_given_where_the_theorem_does_not_hold(config):
    settings = {"C": 2.0, "eps": 0.1, "solver": "one-slack", "executor": "serial", "n_shards": 2}
    assert (
        train(MulticlassTask(), np.eye(3), [0, 1, 2], **settings | config).bound_on_rounds is None
    )


def test_separable_data_needs_no_slack():
    inputs = [(0,), (1,), (2,)]
    outputs = [(0,), (1,), (0,)]
    result = train(ToyChain(), inputs, outputs, C=1e4, eps=1e-6, executor="serial", n_shards=1)
    assert result.history[-1].risk <= 1e-5
    assert [result.model.task.decode(result.model.w, x) for x in inputs] == outputs
