"""Solvers by name."""

from __future__ import annotations

from distsvm.solvers.base import Solver
from distsvm.solvers.one_slack import OneSlack

SOLVERS: dict[str, type] = {"one-slack": OneSlack}


def make_solver(name: str, **options: object) -> Solver:
    """The solver of this name; "auto" is the one that suits most problems."""
    return SOLVERS["one-slack" if name == "auto" else name](**options)
