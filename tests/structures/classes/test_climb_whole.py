"""The exact step over all classes of one example is the best that any step can do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.qp import make_qp
from distsvm.qp.base import QPProblem
from distsvm.structures.classes.kernels.climb_whole import exact_step


def drawn(seed, k, kind):
    rng = np.random.default_rng(seed)
    value = rng.normal(size=k)
    if kind == "ties":
        value = np.round(value)
    truth = int(rng.integers(0, k))
    value[truth] = 0.0
    total = float(rng.choice([1e-6, 0.1, 1.0, 30.0]))
    share = rng.dirichlet(np.ones(k)) * (rng.random(k) < 0.6)
    alpha = total * share
    alpha[truth] = 0.0
    return value, truth, total, alpha


@settings(max_examples=200)
@given(
    st.integers(0, 10**6), st.integers(2, 9), st.sampled_from(["normal", "ties"]),
    st.sampled_from([0.0, 1e-20, 0.01, 1.0, 50.0]),
)  # fmt: skip
def test_the_step_is_feasible_gains_what_it_says_and_no_step_gains_more(seed, k, kind, curvature):
    value, truth, total, alpha = drawn(seed, k, kind)
    value.flags.writeable = False
    before, step = alpha.copy(), np.full(k, np.nan)
    rest = total - alpha.sum()
    gain = exact_step(value, truth, alpha, rest, curvature, step)
    size = 1 + total * np.abs(value).max() + curvature * total**2
    assert alpha[truth] == step[truth] == 0
    assert (alpha >= 0).all()
    assert alpha.sum() <= total * (1 + 1e-9)
    np.testing.assert_allclose(alpha - before, step, atol=1e-12 * total)
    inner = step @ step + step.sum() ** 2
    assert np.isclose(gain, step @ value - 0.5 * curvature * inner, atol=1e-9 * size)
    # Where nothing else can gain: at the optimum every α > 0 has the highest value, or moves so.
    slope = value - curvature * (step + step.sum() * (np.arange(k) != truth))
    slope[truth] = 0.0
    shares = np.where(np.arange(k) == truth, total - alpha.sum(), alpha)
    assert total * slope.max() - shares @ slope <= 1e-8 * size


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.3, 2.0]))
def test_the_step_from_nothing_is_the_solution_of_the_quadratic_program(seed, k, curvature):
    value, truth, total, alpha = drawn(seed, k, "normal")
    alpha[:] = 0.0
    gain = exact_step(value, truth, alpha, total, curvature, np.empty(k))
    others = np.arange(k) != truth
    gram = curvature * (np.ones((k - 1, k - 1)) + np.eye(k - 1))
    problem = QPProblem(gram, value[others], np.zeros(k - 1, dtype=np.int64), np.array([total]))
    solved = make_qp("native").solve(problem, np.zeros(k - 1), 1e-12)
    assert np.isclose(gain, solved.value, atol=1e-8 * (1 + total))
