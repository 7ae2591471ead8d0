"""The cvxpy adapter agrees with the native solver, and says so when it cannot."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from qp_problems import CANCELLING, STEADY, draw, exact_value_and_gap, gaussian, separable

from distsvm import MulticlassTask, train
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError, QPError
from distsvm.qp.base import QPProblem
from distsvm.qp.cvxpy import CvxpyQP
from distsvm.qp.native import NativeQP

cp = pytest.importorskip("cvxpy")


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2, 1e5])
@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
def test_native_and_cvxpy_agree_within_the_gap_of_cvxpy(family, C):
    qp = draw(family, 25, 3, C)
    native = NativeQP().solve(qp, np.zeros(qp.size), 0.0)
    peer = CvxpyQP().solve(qp, np.zeros(qp.size), 0.0)
    assert native.value >= peer.value - native.gap
    assert abs(native.value - peer.value) <= max(1e-7 * native.value, peer.gap)


@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
def test_cvxpy_reaches_1e_7_at_ordinary_limits(family):
    qp = draw(family, 25, 3, 1.0)
    solution = CvxpyQP().solve(qp, np.zeros(qp.size), 0.0)
    value, gap = exact_value_and_gap(qp, solution.alpha)
    assert 0 <= gap <= max(1e-7 * value, 1e-7 * float(qp.limit.sum()))
    assert solution.gap == pytest.approx(float(gap), rel=1e-6)


@pytest.mark.parametrize("name", ["OSQP", "scs"])
def test_other_solvers_of_cvxpy_can_be_named(name):
    if name.upper() not in cp.installed_solvers():
        pytest.skip(f"{name} is not installed")
    qp = draw(separable, 15, 2, 1.0)
    native = NativeQP().solve(qp, np.zeros(qp.size), 0.0)
    solution = CvxpyQP(name).solve(qp, np.zeros(qp.size), 0.0)
    assert solution.value == pytest.approx(native.value, rel=1e-6)


@pytest.mark.parametrize("solver", [CvxpyQP(), NativeQP()], ids=["cvxpy", "native"])
def test_a_problem_without_cuts_has_the_empty_solution(solver):
    nothing = np.empty(0)
    qp = QPProblem(np.empty((0, 0)), nothing, np.empty(0, np.int64), np.ones(2))
    solution = solver.solve(qp, nothing, 0.0)
    assert solution.alpha.shape == (0,)
    assert (solution.value, solution.gap) == (0.0, 0.0)


def test_a_status_other_than_optimal_is_refused_by_name():
    qp = draw(gaussian, 25, 2, 1.0)
    impatient = CvxpyQP("CLARABEL", {"max_iter": 1})
    with pytest.raises(QPError, match=r"CLARABEL.*(user_limit|solver_error|inaccurate)"):
        impatient.solve(qp, np.zeros(qp.size), 0.0)


def test_a_tight_tolerance_that_fails_is_followed_by_a_looser_one(monkeypatch):
    asked = []
    real = cp.Problem.solve

    def solve(model, **options):
        asked.append(options.get("tol_gap_rel"))
        real(model, **options)
        if len(asked) < 3:
            model._status = "optimal_inaccurate"

    monkeypatch.setattr(cp.Problem, "solve", solve)
    qp = draw(gaussian, 10, 1, 1.0)
    CvxpyQP().solve(qp, np.zeros(qp.size), 0.0)
    assert asked == [1e-12, 1e-10, None]


def test_an_unknown_solver_is_refused_with_the_list_of_those_installed():
    with pytest.raises(ConfigError, match=r"qp.*NOSUCH.*CLARABEL"):
        CvxpyQP("nosuch")


def test_without_cvxpy_the_error_has_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ConfigError, match=r"pip install"):
        CvxpyQP()


@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
def test_cuts_that_the_optimum_does_not_need_have_an_alpha_of_0(family):
    qp = draw(family, 25, 3, 1.0)
    native = NativeQP().solve(qp, np.zeros(qp.size), 0.0)
    solution = CvxpyQP().solve(qp, np.zeros(qp.size), 1e-6 * native.value)
    assert solution.gap <= max(1e-6 * native.value, 1e-7)
    assert np.count_nonzero(solution.alpha) < qp.size


def test_idle_cuts_are_dropped_and_do_not_count_as_support():
    X, y = make_multiclass(60, 4, 4, seed=1)
    config = {"C": 100.0, "eps": 1e-3, "solver": "one-slack", "executor": "serial", "n_shards": 1}
    config |= {"idle_solves": 5, "cache_size": 0}
    native, peer = (train(MulticlassTask(), X, y, qp=qp, **config) for qp in ("native", "cvxpy"))
    assert peer.n_cuts < peer.n_rounds
    assert peer.n_support_cuts < peer.n_cuts
    assert peer.n_cuts <= 1.5 * native.n_cuts
