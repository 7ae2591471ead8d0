"""The native QP solver reaches the optimum, and proves it, on every kind of working set."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qp_problems import (
    CANCELLING,
    STEADY,
    draw,
    drifting_1e3,
    exact_value_and_gap,
    gaussian,
    independent,
    problem,
    rounding_floor,
    separable,
)

from distsvm.errors import QPError
from distsvm.qp.base import QPProblem
from distsvm.qp.native import NativeQP

LIMITS = [1e-6, 1e-2, 1.0, 1e2, 1e5, 1e9]
SHAPES = [(1, 1), (7, 3), (40, 1), (40, 8), (150, 32)]

solver = NativeQP()


def solve(qp: QPProblem, start: np.ndarray | None = None, tol: float = 0.0):
    return solver.solve(qp, np.zeros(qp.size) if start is None else start, tol)


def assert_feasible(qp: QPProblem, alpha: np.ndarray) -> None:
    assert np.all(alpha >= 0)
    for k, limit in enumerate(qp.limit):
        assert math.fsum(alpha[qp.block == k]) <= limit


def feasible_start(qp: QPProblem, rng) -> np.ndarray:
    start = rng.random(qp.size) * (rng.random(qp.size) < rng.random())
    total = np.bincount(qp.block, start, qp.limit.size)
    return start * (0.99 * qp.limit / np.maximum(total, 1e-9))[qp.block]


@pytest.mark.parametrize("C", LIMITS)
@pytest.mark.parametrize("family", STEADY, ids=lambda f: f.__name__)
def test_gap_is_at_most_1e_10_of_the_value(family, C):
    for m, n_blocks in SHAPES:
        qp = draw(family, m, n_blocks, C)
        alpha = solve(qp).alpha
        value, gap = exact_value_and_gap(qp, alpha)
        assert 0 <= gap <= 1e-10 * value
        assert_feasible(qp, alpha)


@pytest.mark.parametrize("C", LIMITS)
@pytest.mark.parametrize("family", CANCELLING, ids=lambda f: f.__name__)
def test_gap_is_at_most_1e_10_of_the_value_or_what_float64_can_hold(family, C):
    for m, n_blocks in SHAPES:
        qp = draw(family, m, n_blocks, C)
        alpha = solve(qp).alpha
        value, gap = exact_value_and_gap(qp, alpha)
        assert 0 <= gap <= max(1e-10 * value, rounding_floor(qp, alpha))
        assert C > 1e2 or gap <= 1e-10 * value
        assert_feasible(qp, alpha)


@pytest.mark.parametrize("n_blocks", [1, 32])
@pytest.mark.parametrize("family", [gaussian, drifting_1e3, separable])
def test_five_hundred_cuts_are_solved_to_1e_10_of_the_value(family, n_blocks):
    qp = draw(family, 500, n_blocks, 10.0)
    solution = solve(qp, tol=1e-12)
    value, gap = exact_value_and_gap(qp, solution.alpha)
    assert gap <= 1e-10 * value


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    family=st.sampled_from(STEADY + CANCELLING),
    m=st.integers(1, 40),
    n_blocks=st.integers(1, 6),
    log_C=st.floats(-6, 9),
    seed=st.integers(0, 10**6),
    cold=st.booleans(),
)
def test_any_working_set_is_solved_from_any_start(family, m, n_blocks, log_C, seed, cold):
    qp = draw(family, m, n_blocks, 10.0**log_C, seed)
    start = None if cold else feasible_start(qp, np.random.default_rng(seed))
    solution = solve(qp, start)
    value, gap = exact_value_and_gap(qp, solution.alpha)
    assert 0 <= gap <= max(1e-10 * value, rounding_floor(qp, solution.alpha))
    assert_feasible(qp, solution.alpha)


@pytest.mark.parametrize("C", LIMITS)
@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
def test_reported_value_and_gap_are_those_of_exact_arithmetic(family, C):
    qp = draw(family, 30, 3, C)
    rng = np.random.default_rng(1)
    for solution in (solve(qp), solve(qp, feasible_start(qp, rng), tol=math.inf)):
        value, gap = exact_value_and_gap(qp, solution.alpha)
        assert abs(solution.value - value) <= 1e-14 * abs(value)
        # below ε² of the terms even twice the digits end
        assert abs(solution.gap - gap) <= 1e-9 * gap + 1e-14 * rounding_floor(qp, solution.alpha)


def test_stops_as_soon_as_the_gap_is_below_the_tolerance():
    qp = draw(gaussian, 150, 4, 10.0)
    exact = solve(qp)
    for tol in (1e-1, 1e-4, 1e-8):
        rough = solve(qp, tol=tol * exact.value)
        assert rough.gap <= tol * exact.value
        assert rough.n_iter < exact.n_iter
    assert solve(qp, exact.alpha, tol=1e-6).n_iter <= 2


@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
def test_warm_and_cold_starts_give_the_same_value(family):
    for C in (1e-2, 10.0):
        qp = draw(family, 60, 3, C)
        cold = solve(qp).value
        fewer = QPProblem(qp.gram[:-1, :-1], qp.b[:-1], qp.block[:-1], qp.limit)
        padded = np.append(solve(fewer).alpha, 0.0)
        anywhere = feasible_start(qp, np.random.default_rng(3))
        for start in (padded, anywhere):
            assert solve(qp, start).value == pytest.approx(cold, rel=1e-10, abs=1e-300)


def test_a_start_that_rounding_made_infeasible_is_repaired():
    qp = draw(gaussian, 40, 2, 10.0)
    start = solve(qp).alpha * (1 + 1e-15)
    start[start == 0] = -1e-18
    solution = solve(qp, start, tol=math.inf)
    assert_feasible(qp, solution.alpha)
    np.testing.assert_allclose(solution.alpha, np.maximum(start, 0), rtol=1e-12)


def test_same_input_gives_the_same_bits():
    qp = draw(gaussian, 100, 4, 1e3)
    first, second = solve(qp), solve(qp)
    assert first.alpha.tobytes() == second.alpha.tobytes()
    assert (first.value, first.gap, first.n_iter) == (second.value, second.gap, second.n_iter)


def test_inputs_may_be_read_only_and_stay_as_they_are():
    qp = draw(independent, 20, 2, 10.0)
    start = feasible_start(qp, np.random.default_rng(0))
    plain = solve(qp, start)
    arrays = [qp.gram, qp.b, qp.block, qp.limit, start]
    before = [a.tobytes() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    assert solve(qp, start).alpha.tobytes() == plain.alpha.tobytes()
    assert [a.tobytes() for a in arrays] == before


def test_strides_and_integer_arrays_make_no_difference():
    qp = draw(independent, 20, 2, 10.0)
    wide = np.zeros((40, 40))
    wide[:20, :20] = qp.gram
    strided = QPProblem(wide[:20, :20], qp.b, qp.block.astype(np.int32), qp.limit)
    assert solve(strided).alpha.tobytes() == solve(qp).alpha.tobytes()
    whole = QPProblem(np.eye(2), np.array([2.0, 1.0]), np.zeros(2, np.int64), np.array([1]))
    np.testing.assert_array_equal(solve(whole).alpha, [1.0, 0.0])


def test_zero_cuts_and_blocks_without_cuts_change_nothing():
    zero = QPProblem(np.zeros((3, 3)), np.zeros(3), np.array([0, 0, 2]), np.array([1.0, 2, 3]))
    solution = solve(zero)
    assert (solution.value, solution.gap) == (0.0, 0.0)
    free = QPProblem(np.zeros((1, 1)), np.array([2.0]), np.array([1]), np.array([1.0, 3.0]))
    assert solve(free).value == 6.0


def test_a_limit_of_zero_leaves_the_block_at_zero():
    rng = np.random.default_rng(0)
    qp = problem(*gaussian(20, rng), 2, 1.0, rng)
    closed = QPProblem(qp.gram, qp.b, qp.block, np.array([0.0, 1.0]))
    alpha = solve(closed).alpha
    assert np.all(alpha[qp.block == 0] == 0)
    value, gap = exact_value_and_gap(closed, alpha)
    assert gap <= 1e-10 * value


def test_numbers_that_are_not_finite_are_refused():
    qp = draw(gaussian, 10, 1, 1.0)
    b = qp.b.copy()
    b[3] = np.nan
    with pytest.raises(QPError, match="not finite"):
        solve(QPProblem(qp.gram, b, qp.block, qp.limit))
