"""Solvers by name."""

from __future__ import annotations

from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack

SOLVERS: dict[str, type] = {"one-slack": OneSlack, "multi-plane": MultiPlane}


def solver_class(name: str, suited: str) -> type:
    """The solver of this name; "auto" is the one that suits the task."""
    return SOLVERS[suited if name == "auto" else name]
