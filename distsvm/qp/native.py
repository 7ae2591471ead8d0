"""The default solver of the small dual QP: warm-started, exact, no library needed."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.simplex_qp import maximise
from distsvm.qp.base import QPProblem, QPSolution


class NativeQP:
    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        g = np.ascontiguousarray(problem.gram).view()
        f=lambda x:np.ascontiguousarray(x,dtype=float)
        a, v, gap, n = maximise(g, f(problem.b), problem.block, f(problem.limit), f(warm_start), float(tol))
        return QPSolution(a, v, gap, n)
