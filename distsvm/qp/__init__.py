"""The small dual QP over the working set, and the solvers to choose from."""

from __future__ import annotations

from distsvm.errors import ConfigError
from distsvm.qp.base import QPProblem, QPSolution, QPSolver

__all__ = ["QPProblem", "QPSolution", "QPSolver", "make_qp"]

QP_PATTERN = r"native|line-search|cvxpy(:.+)?"
QP_NAMES = "native, line-search, cvxpy or cvxpy:SOLVER, as in cvxpy:CLARABEL"


def make_qp(name: str) -> QPSolver:
    """Return the solver "native", "line-search", "cvxpy", or "cvxpy:SOLVER" of cvxpy's solvers.

    Each is imported on use. ConfigError if the solver is not available.
    """
    if name == "native":
        from distsvm.qp.native import NativeQP

        return NativeQP()
    if name == "line-search":
        from distsvm.qp.line_search import LineSearch

        return LineSearch()
    library, colon, solver = name.partition(":")
    if library == "cvxpy" and bool(solver) == bool(colon):
        from distsvm.qp.cvxpy import CvxpyQP

        return CvxpyQP(solver or None)
    raise ConfigError("qp", name, QP_NAMES)
