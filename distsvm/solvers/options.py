"""Options of solvers: the base of the classes that declare them, and all of them by name."""

from __future__ import annotations

from typing import Any

from distsvm.options import Option, check_fields, declared
from distsvm.registry import solvers


class SolverOptions:
    """The base of the dataclasses in which solvers declare their options."""

    def __post_init__(self) -> None:
        check_fields(self)

    def check_with(self, config: Any) -> None:
        """Refuse what does not go with the TrainConfig that these options are part of."""

    def check_here(self) -> None:
        """Refuse what this machine lacks the packages for."""


def solver_options() -> dict[str, type[SolverOptions]]:
    """The dataclass of options of every solver, by the solver's name."""
    return {name: solver.Options for name, solver in solvers().items()}


def options_of_solvers() -> dict[str, Option]:
    """Every solver's options by name; solvers that share a name share what the first says of it."""
    found: dict[str, Option] = {}
    for cls in solver_options().values():
        found = {**declared(cls), **found}
    return found
