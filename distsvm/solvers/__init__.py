"""Solvers by name, and their options."""

from __future__ import annotations

from distsvm.options import Option, declared
from distsvm.solvers.base import SolverOptions
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack

SOLVERS: dict[str, type[OneSlack] | type[MultiPlane]] = {
    "one-slack": OneSlack,
    "multi-plane": MultiPlane,
}


def solver_options() -> dict[str, type[SolverOptions]]:
    """The dataclass of options of every solver, by the solver's name."""
    return {name: solver.options for name, solver in SOLVERS.items()}


def options_of_solvers() -> dict[str, Option]:
    """Every solver's options by name; solvers that share a name share what the first says of it."""
    found: dict[str, Option] = {}
    for cls in solver_options().values():
        found = {**declared(cls), **found}
    return found
