"""Steps over one example's planes raise the dual, stay feasible and lead to the exact optimum."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.data.features import frozen
from distsvm.kernels.climb import Held, climb, raise_dual
from distsvm.qp import make_qp
from distsvm.qp.base import QPProblem

CASES = st.tuples(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.sampled_from([1, 3, 20]),
    st.sampled_from(["normal", "integers", "twins"]),
    st.sampled_from([1.0, 2.5, 8.0]),
)


class Block:
    """Planes (p, q) of one example, some α, and a w that holds them and more."""

    def __init__(self, case):
        seed, m, d, kind, self.sigma = case
        rng = np.random.default_rng(seed)
        self.p = rng.normal(size=(m, d))
        if kind == "integers":
            self.p = np.round(self.p)
        if kind == "twins":
            self.p = self.p[rng.integers(0, m, m)]
        self.q = np.round(2 * rng.random(m), 1)
        self.w = rng.normal(size=d)
        self.total = float(rng.choice([0.0, 0.1, 1.0, 30.0]))
        part = rng.dirichlet(np.ones(m + 1))[:m] * (rng.random(m) < 0.6)
        self.alpha = self.total * part
        self.gram = frozen(self.p @ self.p.T)

    def value(self):
        return self.q - self.p @ self.w

    def local_dual(self, step):
        """What a change of α by `step` adds, if it counts σ times over in w."""
        u = step @ self.p
        return step @ self.q - u @ self.w - 0.5 * self.sigma * u @ u


def climbed(block, max_steps, tol=0.0):
    alpha, value, step = block.alpha.copy(), block.value(), np.full(block.q.size, np.nan)
    gain = climb(value, block.gram, alpha, block.total, 0.0, block.sigma, max_steps, tol, step)
    return gain, alpha, value, step


@settings(max_examples=300)
@given(CASES, st.integers(0, 60))
def test_steps_stay_feasible_and_gain_what_they_say(case, max_steps):
    block = Block(case)
    gain, alpha, value, step = climbed(block, max_steps)
    size = 1 + block.total * np.abs(block.value()).max() + block.total**2 * np.abs(block.gram).max()
    assert gain >= 0
    assert (alpha >= 0).all()
    assert alpha.sum() <= block.total * (1 + 1e-12)
    np.testing.assert_allclose(alpha - block.alpha, step, atol=1e-12 * (1 + block.total))
    np.testing.assert_allclose(gain, block.local_dual(step), atol=1e-10 * block.sigma * size)
    moved = block.value() - block.sigma * block.p @ (step @ block.p)
    np.testing.assert_allclose(value, moved, atol=1e-10 * block.sigma * size)


@settings(max_examples=150)
@given(CASES)
def test_more_steps_never_lower_the_dual(case):
    block = Block(case)
    gains = [climbed(block, n)[0] for n in (0, 1, 2, 5, 20, 100)]
    assert gains[0] == 0
    assert all(a <= b for a, b in itertools.pairwise(gains))


@settings(max_examples=150)
@given(CASES)
def test_enough_steps_solve_the_small_problem(case):
    block = Block(case)
    gain = climbed(block, 20_000)[0]
    # In α itself: Σ α·q' − ½σ‖Σ α·p‖², where q' makes up for the α that w already holds.
    G = block.sigma * block.gram
    b = block.value() + G @ block.alpha
    limit = np.array([block.total])
    problem = QPProblem(np.array(G), b, np.zeros(block.q.size, np.int64), limit)
    best = make_qp("native").solve(problem, np.zeros(block.q.size), 1e-12).value
    before = b @ block.alpha - 0.5 * block.alpha @ G @ block.alpha
    size = 1 + block.total * np.abs(b).max() + block.total**2 * np.abs(G).max()
    assert before + gain <= best + 1e-9 * size
    np.testing.assert_allclose(before + gain, best, atol=1e-6 * size)


@settings(max_examples=100)
@given(CASES, st.floats(0.01, 1.0))
def test_values_are_equal_within_the_tolerance_where_there_is_alpha(case, tol):
    block = Block(case)
    _, alpha, value, _ = climbed(block, 20_000, tol)
    lowest = [*value[alpha > 0]]
    if block.total - alpha.sum() > 1e-9 * block.total:
        lowest.append(0.0)
    if lowest:
        assert max(0.0, value.max()) - min(lowest) <= tol + 1e-9


@settings(max_examples=100)
@given(CASES)
def test_a_visit_keeps_the_books(case):
    block, m = Block(case), Block(case).q.size
    size = m + 2
    held = Held(
        count=np.array([0, m], np.int32), q=np.zeros((2, size)), alpha=np.zeros((2, size)),
        gram=np.zeros((2, size, size)), idle=np.full((2, size), 3, np.int16),
        total=np.array([5.0, block.total]), gap=np.zeros(2),
    )  # fmt: skip
    held.alpha[1, :m], held.gram[1, :m, :m] = block.alpha, block.gram
    value, step = block.value(), np.empty(m)
    share = block.total * max(0.0, value.max()) - block.alpha @ value
    gain = raise_dual(held, 1, value, block.sigma, 7, 0.0, step)
    expected, alpha, _, _ = climbed(block, 7)
    assert gain == expected
    assert np.array_equal(held.alpha[1, :m], alpha)
    assert np.isclose(held.gap[1], share)
    assert share >= -1e-12 * (1 + block.total)
    assert np.array_equal(held.idle[1, :m], np.where(alpha > 0, 0, 4))
    assert (held.idle[0] == 3).all()
    assert not held.alpha[0].any()
