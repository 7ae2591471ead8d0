"""What every solver of the dual QP ends with: a feasible α and its true value and gap."""

from __future__ import annotations

import numpy as np

from distsvm.errors import QPError
from distsvm.kernels import simplex_gap
from distsvm.qp.base import QPProblem, QPSolution


def read_only(array: np.ndarray, dtype: type) -> np.ndarray:
    """A contiguous view or copy that kernels see as one type, whatever the caller's array is."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def arguments(problem: QPProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The problem as its kernels take it: gram, b, block, limit."""
    return (
        read_only(problem.gram, np.float64),
        read_only(problem.b, np.float64),
        read_only(problem.block, np.int64),
        read_only(problem.limit, np.float64),
    )


def certify(problem: QPProblem, alpha: np.ndarray, n_iter: int) -> QPSolution:
    """The solution α made feasible, with the value and gap of twice the working precision.

    Feasible to the last bit: α ≥ 0, and the exact sum of each block is at most its limit.
    """
    gram, b, block, limit = arguments(problem)
    alpha = np.array(alpha, dtype=np.float64)
    simplex_gap.make_feasible(alpha, block, limit)
    value, gap = simplex_gap.certify(gram, b, block, limit, alpha)
    if not (np.isfinite(value) and np.isfinite(gap)):
        raise QPError("the cuts of the QP are not finite")
    return QPSolution(alpha, value, gap, n_iter)
