"""Options of solvers: the base of the classes that declare them, and all of them by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.options import Option, check_fields, declared
from distsvm.registry import solvers


@dataclass(frozen=True)
class SolverOptions:
    """The base of the dataclasses in which solvers declare their options."""

    def __post_init__(self) -> None:
        check_fields(self)

    def check_with(self, config: Any) -> None:
        """Refuse options that contradict the TrainConfig that they are part of."""

    def check_here(self) -> None:
        """Refuse options whose packages are not installed on this machine."""


def solver_options() -> dict[str, type[SolverOptions]]:
    """Return every solver's dataclass of options, by the solver's name."""
    return {name: solver.Options for name, solver in solvers().items()}


def options_of_solvers() -> dict[str, Option]:
    """Return all solvers' options by name; of options with one name, the first declaration."""
    found: dict[str, Option] = {}
    for cls in solver_options().values():
        found = {**declared(cls), **found}
    return found
