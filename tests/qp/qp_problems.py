"""Families of dual QPs, and their value and gap in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from distsvm.qp.base import QPProblem

EPS = float(np.finfo(float).eps)


def problem(A: np.ndarray, b: np.ndarray, n_blocks: int, C: float, rng) -> QPProblem:
    """The cuts in random blocks; with more than one block, limits around C that differ."""
    limit = np.array([C]) if n_blocks == 1 else C * np.exp(rng.normal(size=n_blocks))
    return QPProblem(A @ A.T, b, rng.integers(0, n_blocks, b.size), limit)


def gaussian(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """More cuts than dimensions, on all sides of zero: G is singular, large α cancel in w."""
    return rng.normal(size=(m, 20)), rng.normal(size=m)


def duplicates(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Each cut about three times, and zero cuts."""
    A, b = gaussian(m, rng)
    which = rng.integers(0, m // 3 + 1, m)
    A, b = A[which], b[which]
    zero = rng.random(m) < 0.1
    A[zero], b[zero] = 0, 0
    return A, b


def integers(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Exact ties in every comparison."""
    return rng.integers(-2, 3, (m, 12)).astype(float), rng.integers(-1, 4, m).astype(float)


def ill_conditioned(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Singular values over seven orders of magnitude."""
    return rng.normal(size=(m, 40)) * np.logspace(-7, 0, 40), rng.random(m)


def drifting(m: int, rng, change: float) -> tuple[np.ndarray, np.ndarray]:
    """As cutting planes are: each differs a little from the one before."""
    steps = rng.normal(size=(m, 30))
    steps[1:] *= change
    return np.cumsum(steps, axis=0), 1 + change * rng.normal(size=m)


def drifting_1e3(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    return drifting(m, rng, 1e-3)


def drifting_1e6(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    return drifting(m, rng, 1e-6)


def one_sided(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    return np.abs(rng.normal(size=(m, 20))), rng.random(m)


def separable(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Some w satisfies all cuts, so that a large limit does not bind."""
    A = rng.normal(size=(m, 20))
    A[:, 0] = 0.1 + np.abs(A[:, 0])
    return A, rng.uniform(0.1, 1, m)


def independent(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """More dimensions than cuts; about half of b is negative."""
    return rng.normal(size=(m, 2 * m)), rng.normal(size=m)


def nothing_to_gain(m: int, rng) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(m, 20)), -rng.random(m)


Family = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]

CANCELLING: list[Family] = [gaussian, duplicates, integers, ill_conditioned]
STEADY: list[Family] = [
    drifting_1e3, drifting_1e6, one_sided, separable, independent, nothing_to_gain,
]  # fmt: skip


def draw(family: Family, m: int, n_blocks: int, C: float, seed: int = 0) -> QPProblem:
    rng = np.random.default_rng([seed, m, n_blocks])
    A, b = family(m, rng)
    return problem(A, b, n_blocks, C, rng)


def exact_value_and_gap(qp: QPProblem, alpha: np.ndarray) -> tuple[Fraction, Fraction]:
    """The formulas of QPProblem.value and QPProblem.gap without any rounding."""
    support = np.flatnonzero(alpha)
    share = {int(i): Fraction(float(alpha[i])) for i in support}
    gradient = [
        Fraction(float(qp.b[j])) - sum(Fraction(float(qp.gram[j, i])) * share[i] for i in share)
        for j in range(qp.size)
    ]
    slack = [Fraction(0)] * qp.limit.size
    for j, k in enumerate(qp.block):
        slack[k] = max(slack[k], gradient[j])
    value = sum(s * (Fraction(float(qp.b[i])) + gradient[i]) for i, s in share.items()) / 2
    bound = sum(Fraction(float(c)) * s for c, s in zip(qp.limit, slack, strict=True))
    return Fraction(value), Fraction(bound - sum(s * gradient[i] for i, s in share.items()))


def rounding_floor(qp: QPProblem, alpha: np.ndarray) -> float:
    """What one rounding of each α may add to the gap: ε·Σ_k limit_k·max_j (|b_j| + max|G_j|·Σα).

    Not |G|α: where the optimum is not unique, the solver may end at any of them.
    """
    largest = np.zeros(qp.limit.size)
    size = np.abs(qp.b) + np.abs(qp.gram).max(axis=1) * alpha.sum()
    np.maximum.at(largest, qp.block, size)
    return EPS * float(qp.limit @ largest)
