"""The dual QP by the solvers of cvxpy, for comparison."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.errors import ConfigError, QPError
from distsvm.qp.base import QPProblem, QPSolution
from distsvm.qp.certificate import certify
from distsvm.wording import message

# the options by which a solver takes its tolerance
TOLERANCES = {
    "CLARABEL": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "OSQP": ("eps_abs", "eps_rel"),
    "SCS": ("eps_abs", "eps_rel"),
    "ECOS": ("abstol", "reltol", "feastol"),
}

# Shares of a block's limit that count as 0, the largest first.
SMALL_SHARES = (1e-4, 1e-6, 1e-8, 1e-10)


@dataclass(frozen=True)
class CvxpyQP:
    """Solves for α/limit, with an objective of about 1, by one of cvxpy's solvers.

    Parameters
    ----------
    solver : str, optional
        A name that cvxpy knows; CLARABEL unless given.
    options : mapping, optional
        Of that solver. By default a tolerance of 1e-12, then of 1e-10 if it does not report
        "optimal", and at last its own.

    The solver gets neither `warm_start` nor `tol`. Its α is made feasible, small α become 0 where
    `tol` allows it, and the gap is that of this α, not the solver's. A status other than "optimal"
    is a QPError.
    """

    solver: str | None = None
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        installed = _cvxpy().installed_solvers()
        if self._name not in installed:
            raise ConfigError(
                message(
                    "{qp}: cvxpy has no solver {} here; it has {}",
                    repr(self._name),
                    ", ".join(installed),
                )
            )

    @property
    def _name(self) -> str:
        return (self.solver or "CLARABEL").upper()

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        if not problem.size:  # cvxpy has no variables of size 0
            return QPSolution(np.empty(0), value=0.0, gap=0.0, n_iter=0)
        cp = _cvxpy()
        scale = problem.limit[problem.block]
        linear = scale * problem.b
        quadratic = scale[:, None] * problem.gram * scale
        unit = _best_single(linear, np.diag(quadratic)) or abs(linear).max(initial=0.0) or 1.0
        share = cp.Variable(problem.size)
        members = np.equal.outer(np.unique(problem.block), problem.block).astype(float)
        curvature = cp.quad_form(share, cp.psd_wrap(quadratic / unit))
        model = cp.Problem(
            cp.Maximize((linear / unit) @ share - 0.5 * curvature),
            [share >= 0, members @ share <= 1],
        )
        for options in self._attempts():
            status = self._run(model, options)
            if status == "optimal":
                n_iter = model.solver_stats.num_iters or 0
                return _sparsest(problem, share.value, scale, tol, n_iter)
        raise QPError(f"cvxpy's solver {self._name} ended with status {status!r}")

    def _attempts(self) -> Iterator[Mapping[str, Any]]:
        if self.options is not None:
            yield self.options
            return
        names = TOLERANCES.get(self._name, ())
        if names:
            yield dict.fromkeys(names, 1e-12)
            yield dict.fromkeys(names, 1e-10)
        yield {}

    def _run(self, model: Any, options: Mapping[str, Any]) -> str:
        with warnings.catch_warnings():
            # the status has the same information
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            try:
                # a warm start would keep the options of the attempt before
                model.solve(solver=self._name, warm_start=False, **options)
            except _cvxpy().error.SolverError:
                return "solver_error"
        return model.status


def _sparsest(
    problem: QPProblem, share: np.ndarray, scale: np.ndarray, tol: float, n_iter: int
) -> QPSolution:
    """Return the solution without its small α, where the gap stays within `tol` or does not grow.

    An interior point has no α of exactly 0, so no cut would ever be idle.
    """
    whole = certify(problem, scale * share, n_iter)
    for least in SMALL_SHARES:
        found = certify(problem, scale * np.where(share < least, 0.0, share), n_iter)
        if found.gap <= max(tol, whole.gap):
            return found
    return whole


def _best_single(linear: np.ndarray, diagonal: np.ndarray) -> float:
    """Return the best value with one cut only; the optimum divided by it is of order 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(linear >= diagonal, 1.0, np.maximum(linear, 0.0) / diagonal)
    return float(np.max(linear * share - 0.5 * diagonal * share**2, initial=0.0))


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise ConfigError(
            message('{qp}: cvxpy needs the cvxpy package: pip install "distsvm[cvxpy]"')
        ) from None
    return cvxpy
