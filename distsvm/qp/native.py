"""The default solver of the small dual QP: warm-started, exact, no library needed."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.simplex_qp import maximise
from distsvm.qp.base import QPProblem, QPSolution
from distsvm.qp.certificate import arguments, certify, read_only


class NativeQP:
    """An active-set method that is as fast from a good start as the start is good.

    It ends after finitely many steps whatever the condition of G. The gap it reaches is
    bounded below only by what float64 can hold: about 1e-16·Σ_k limit_k·max_j (|b| + |G|α)_j,
    or far less where no limit binds. That is below 1e-10·D unless the cuts cancel to that degree.
    """

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        """The solution from `warm_start`, which is made feasible first if it is not."""
        alpha, n_iter = maximise(
            *arguments(problem), read_only(warm_start, np.float64), float(tol)
        )
        return certify(problem, alpha, n_iter)
