"""Solvers by name: those of distsvm, and those that other packages register."""

from __future__ import annotations

import importlib
from dataclasses import fields
from functools import cache
from importlib.metadata import entry_points

from distsvm.errors import ConfigError, nearest
from distsvm.solvers.base import Solver
from distsvm.solvers.round import Column, Round

BUILT_IN = {
    "one-slack": "distsvm.solvers.one_slack:OneSlack",
    "multi-plane": "distsvm.solvers.multi_plane:MultiPlane",
}
GROUP = "distsvm.solvers"
EARLIER_NAMES = {"OneSlack": "one-slack", "MultiPlane": "multi-plane"}
"""What run.json called them once."""


@cache
def solver_names() -> tuple[str, ...]:
    """The names of all solvers, those of distsvm first."""
    others = {point.name for point in entry_points(group=GROUP)} - BUILT_IN.keys()
    return (*BUILT_IN, *sorted(others))


def shown_columns(record: Round) -> list[Column]:
    """The columns of the record's solver that have a label; none where nobody knows the solver."""
    if record.solver not in solver_names():
        return []
    columns = solver_named(record.solver).columns
    return [
        column
        for column in columns
        if column.label and (record.value(column.name) or not column.only_if_any)
    ]


@cache
def options_of_solvers() -> frozenset[str]:
    """The names of all solvers' own options."""
    return frozenset(
        own.name for name in solver_names() for own in fields(solver_named(name).Options)
    )


@cache
def solver_named(name: str) -> type[Solver]:
    """The solver that is registered under this name."""
    where = BUILT_IN.get(name)
    if where is not None:
        module, _, attribute = where.partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in entry_points(group=GROUP, name=name):
        try:
            found = point.load()
        except Exception as error:
            package = point.dist.name if point.dist else "?"
            raise ConfigError(
                f"solver={name!r} of the package {package}: {point.value} cannot be loaded: {error}"
            ) from error
        if not (isinstance(found, type) and issubclass(found, Solver) and found.name == name):
            raise ConfigError(
                f"solver={name!r}: {point.value} is no distsvm.solvers.base.Solver of that name"
            )
        return found
    raise ConfigError(
        f"solver={name!r}: expected one of {', '.join(solver_names())}"
        f"{nearest(name, solver_names())}"
    )
