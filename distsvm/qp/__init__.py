"""Solvers of the small dual QP, by name."""

from __future__ import annotations

from distsvm.errors import ConfigError
from distsvm.qp.base import QPSolver


def make_qp(name: str) -> QPSolver:
    """The QP solver of this name: "native", "line-search", "cvxpy" or "cvxpy:SOLVER"."""
    # Each is imported when it is asked for: one needs cvxpy, the native one compiles.
    if name == "native":
        from distsvm.qp.native import NativeQP

        return NativeQP()
    if name == "line-search":
        from distsvm.qp.line_search import LineSearch

        return LineSearch()
    if name.partition(":")[0] == "cvxpy":
        from distsvm.qp.cvxpy import CvxpyQP

        return CvxpyQP(name.partition(":")[2] or None)
    raise ConfigError(
        f"qp={name!r}: expected one of native, line-search, cvxpy, cvxpy:SOLVER"
    )
