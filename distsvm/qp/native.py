"""The default solver of the small dual QP: warm-started, exact, without a library."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.simplex_qp import maximise
from distsvm.qp.base import QPProblem, QPSolution
from distsvm.qp.certificate import certify, kernel_arguments, read_only


class NativeQP:
    """An active-set method: exact, and faster from a better start.

    It takes finitely many steps for every condition of G, and equal input gives equal bits. `tol`
    can be as small as the rounding of α in float64 allows, about

        1e-16 · Σ_k limit_k · max_{j in block k} (|b| + |G|α)_j,

    and far smaller where no limit binds. That is under 1e-10·D unless large α cancel in w to more
    than five digits, as is possible at limits of 1e6 and more.
    """

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        """Return the solution found from `warm_start`, which is made feasible first."""
        start = read_only(warm_start, np.float64)
        alpha, n_iter = maximise(*kernel_arguments(problem), start, float(tol))
        return certify(problem, alpha, n_iter)
