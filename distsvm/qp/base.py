"""The small dual QP, its solution, and the interface of its solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class QPProblem:
    """max_α ⟨b, α⟩ − ½ αᵀGα,  α ≥ 0,  Σ_{j in block k} α_j ≤ limit_k.

    Parameters
    ----------
    gram : float64 array of shape (m, m)
        G = AᵀA of the cuts' vectors: symmetric and positive semidefinite up to rounding.
    b : float64 array of shape (m,)
    block : int64 array of shape (m,)
        The block of each cut, in 0 … len(limit) − 1; a block may have no cut.
    limit : float64 array of shape (n_blocks,)
    """

    gram: np.ndarray
    b: np.ndarray
    block: np.ndarray
    limit: np.ndarray

    @property
    def size(self) -> int:
        return self.b.size

    def value(self, alpha: np.ndarray) -> float:
        """Return the dual objective ⟨b, α⟩ − ½ αᵀGα."""
        return float(self.b @ alpha - 0.5 * (alpha @ (self.gram @ alpha)))

    def gap(self, alpha: np.ndarray) -> float:
        """Return a bound of the distance to the optimum: Σ_k limit_k·ξ_k − ⟨∇D(α), α⟩ ≥ 0.

        ξ_k = max(0, max_{j in block k} ∇_j) is the slack of block k at w = Σ α_j a_j, and
        ∇ = b − Gα; the sum is the primal minus the dual value of the QP at (w, α). It has the
        rounding of float64: where large α cancel in Gα, `qp.certificate.certify` is more precise.
        """
        gradient = self.b - self.gram @ alpha
        slack = np.zeros(self.limit.size)
        np.maximum.at(slack, self.block, gradient)
        return float(self.limit @ slack - gradient @ alpha)


@dataclass(frozen=True, eq=False)
class QPSolution:
    """A feasible α, its dual value, and the proof of how good it is."""

    alpha: np.ndarray
    value: float
    gap: float
    n_iter: int


class QPSolver(Protocol):
    """Solves a QPProblem from a feasible start until the gap is at most `tol` (absolute).

    Where rounding allows no such gap, it returns its best α with its gap, and the caller decides.
    α is always feasible.
    """

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution: ...
