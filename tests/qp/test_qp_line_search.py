"""The line search takes the best step towards the newest cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qp_problems import CANCELLING, STEADY, draw, exact_value_and_gap, gaussian

from distsvm.qp.base import QPProblem
from distsvm.qp.line_search import LineSearch
from distsvm.qp.native import NativeQP


def without_last(qp: QPProblem) -> QPProblem:
    return QPProblem(qp.gram[:-1, :-1], qp.b[:-1], qp.block[:-1], qp.limit)


def solved_before_the_last_cut(qp: QPProblem) -> np.ndarray:
    before = without_last(qp)
    return np.append(NativeQP().solve(before, np.zeros(before.size), 1e-3).alpha, 0.0)


def step(qp: QPProblem, start: np.ndarray, new: int, beta: float) -> np.ndarray:
    block = qp.block == qp.block[new]
    limit = qp.limit[qp.block[new]]
    alpha = np.where(block, (1 - beta / limit) * start, start)
    alpha[new] += beta
    return alpha


@settings(max_examples=100)
@given(
    family=st.sampled_from(STEADY + CANCELLING),
    m=st.integers(2, 20),
    n_blocks=st.integers(1, 4),
    log_C=st.floats(-4, 4),
    seed=st.integers(0, 10**6),
)
def test_never_lowers_the_dual_value(family, m, n_blocks, log_C, seed):
    qp = draw(family, m, n_blocks, 10.0**log_C, seed)
    start = solved_before_the_last_cut(qp)
    before, _ = exact_value_and_gap(qp, start)
    after = LineSearch().solve(qp, start, 0.0)
    value, gap = exact_value_and_gap(qp, after.alpha)
    scale = float(np.abs(qp.b) @ start + start @ np.abs(qp.gram) @ start)
    assert value >= before - 1e-14 * scale
    assert after.gap == pytest.approx(float(gap), rel=1e-6, abs=1e-13 * scale)


@pytest.mark.parametrize("family", STEADY + CANCELLING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_step_is_the_best_of_all_steps(family, C):
    qp = draw(family, 12, 1, C)
    start = solved_before_the_last_cut(qp)
    new = np.flatnonzero(start == 0)[-1]
    found = LineSearch().solve(qp, start, 0.0).value
    values = [qp.value(step(qp, start, new, beta)) for beta in np.linspace(0, C, 2001)]
    scale = float(np.abs(qp.b) @ start + start @ np.abs(qp.gram) @ start)
    assert found >= max(values) - 1e-13 * scale
    # a parabola cannot rise by more than this between two points of the grid
    eta = (step(qp, start, new, C) - start) / C
    assert found <= max(values) + (C / 2000) ** 2 * (eta @ qp.gram @ eta) + 1e-13 * scale


def test_blocks_follow_one_another():
    qp = draw(gaussian, 12, 3, 1.0)
    alpha = np.zeros(12)
    for k in range(3):
        new = np.flatnonzero(qp.block == k)[-1]
        slope = (qp.b - qp.gram @ alpha)[new]
        alpha[new] = np.clip(slope / qp.gram[new, new], 0, qp.limit[k])
    solution = LineSearch().solve(qp, np.zeros(12), 0.0)
    np.testing.assert_allclose(solution.alpha, alpha, rtol=1e-12)
    assert solution.n_iter == np.count_nonzero(alpha)


def test_a_cut_without_norm_takes_the_whole_block():
    gram, block = np.zeros((2, 2)), np.zeros(2, np.int64)
    for b, expected in ((1.0, [0.0, 3.0]), (-1.0, [0.0, 0.0])):
        qp = QPProblem(gram, np.array([0.5, b]), block, np.array([3.0]))
        np.testing.assert_array_equal(LineSearch().solve(qp, np.zeros(2), 0.0).alpha, expected)


def test_a_block_whose_cuts_all_have_alpha_stays_as_it_is():
    qp = QPProblem(np.eye(2), np.ones(2), np.zeros(2, np.int64), np.array([1.0]))
    solution = LineSearch().solve(qp, np.array([0.25, 0.25]), 0.0)
    np.testing.assert_array_equal(solution.alpha, [0.25, 0.25])
    assert solution.n_iter == 0
