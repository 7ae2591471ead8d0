"""The default solver of the small dual QP: warm-started, exact, no library needed."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.simplex_qp import maximise
from distsvm.qp.base import QPProblem, QPSolution
from distsvm.qp.certificate import certify, kernel_arguments, read_only


class NativeQP:
    """An active-set method: exact, and the faster the better its start.

    It takes finitely many steps whatever the condition of G, and gives the same bits for the same
    input. The gap can be asked to be as small as float64 lets α be: to about

        1e-16 · Σ_k limit_k · max_{j in block k} (|b| + |G|α)_j,

    and far less where no limit binds. That is under 1e-10·D but where large α cancel in w to more
    than five digits, as they may at limits of 1e6 and more.
    """

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        """The solution found from `warm_start`, which is made feasible first if need be."""
        start = read_only(warm_start, np.float64)
        alpha, n_iter = maximise(*kernel_arguments(problem), start, float(tol))
        return certify(problem, alpha, n_iter)
