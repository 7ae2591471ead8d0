"""The last step of every solver of the dual QP: a feasible α, and its true value and gap."""

from __future__ import annotations

import math

import numpy as np

from distsvm.errors import QPError
from distsvm.kernels import simplex_gap
from distsvm.qp.base import QPProblem, QPSolution


def read_only(array: np.ndarray, dtype: type) -> np.ndarray:
    """Return the array in the one type for which kernels are compiled."""
    view: np.ndarray = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def kernel_arguments(problem: QPProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (
        read_only(problem.gram, np.float64),
        read_only(problem.b, np.float64),
        read_only(problem.block, np.int64),
        read_only(problem.limit, np.float64),
    )


def certify(problem: QPProblem, alpha: np.ndarray, n_iter: int) -> QPSolution:
    """Return a feasible copy of α, with its value and gap from sums of twice the precision.

    Feasible to the last bit: α ≥ 0, and the exact sum of each block is at most its limit. A
    feasible α does not change. Raises QPError where a number is not finite.
    """
    gram, b, block, limit = kernel_arguments(problem)
    alpha = np.array(alpha, dtype=np.float64)
    simplex_gap.make_feasible(alpha, block, limit)
    value, gap = simplex_gap.certify(gram, b, block, limit, alpha)
    if not (math.isfinite(value) and math.isfinite(gap)):
        raise QPError("the QP's value is not finite: some cut or limit is infinite or NaN")
    return QPSolution(alpha, float(value), float(gap), n_iter)
