"""The declared options of training, executors and solvers, as flags."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.executors import make_executor
from distsvm.executors.options import RayOptions
from distsvm.jobs.client import is_job_address, shown_address
from distsvm.options import Option, declared
from distsvm.solvers.options import solver_options
from distsvm.training.config import PLACE, TrainConfig, all_options
from distsvm.wording import Setting, message

WHERE = ("executor", "n_workers")
"""Options of verbs that compute without training."""


def config_options() -> dict[str, list[Option]]:
    """Return the options of training, executors and solvers, by title of their group."""
    titles: dict[str, list[Option]] = {}
    for own in declared(TrainConfig).values():
        titles.setdefault(own.group, []).append(own)
        if own.name == "n_workers":
            for each in declared(RayOptions).values():
                of = message("({}) {}", ", ".join(each.of), each.help)
                titles[PLACE].append(replace(each, help=of))
    seen: set[str] = set()
    for solver, cls in solver_options().items():
        mine = [own for name, own in declared(cls).items() if name not in seen]
        titles[f"solver {solver} only"] = mine
        seen |= declared(cls).keys()
    return titles


def add_config(parser: Parser, fields: Collection[str] | None = None) -> None:
    """Add the options with these names; without names, all."""
    executors = declared(RayOptions).keys()
    for title, options in config_options().items():
        chosen = [
            own for own in options
            if own.flag and (fields is None or own.name in fields or own.name in executors)
        ]  # fmt: skip
        if any(own.name not in executors for own in chosen):
            group = parser.group(title)
            for own in chosen:
                group.declared(own)


def add_place(parser: Parser) -> None:
    """Add the options in WHERE."""
    add_config(parser, WHERE)


def given_place(args: argparse.Namespace) -> dict[str, Any]:
    """Return the given options of WHERE, checked."""
    place = given_config(args, WHERE)
    check_config(place)
    return place


def given_config(args: argparse.Namespace, fields: Collection[str] | None = None) -> dict[str, Any]:
    """Return the given options of training, executors and solvers."""
    names = all_options() if fields is None else fields
    config = {name: getattr(args, name) for name in names if hasattr(args, name)}
    chosen = [own for name, own in declared(RayOptions).items() if hasattr(args, name)]
    extras = {own.name: getattr(args, own.name) for own in chosen}
    if "address" in extras:
        if is_job_address(extras["address"]):
            raise ConfigError(
                message(
                    "{}: that is a dashboard's address; 'distsvm submit' trains there as a job",
                    Setting("address", shown_address(extras["address"])),
                )
            )
        config.setdefault("executor", "ray")
    for own in chosen:
        if config.get("executor") not in own.of:
            raise ConfigError(f"{own.flag} needs --executor {' or '.join(reversed(own.of))}")
    if extras or "executor" in config:
        # They replace those of a resumed run, which may be of another executor.
        config["executor_options"] = extras
    return config


def check_config(config: dict[str, Any], *, resumed: bool = False) -> TrainConfig:
    """Refuse what can be refused before any data is read, and return the configuration."""
    settings = TrainConfig.from_dict(config)
    if settings.solver != "auto" and not resumed:  # a resumed run has its solver
        settings.check_options_of(settings.solver)
    for solver in solver_options():
        settings.options_of(solver).check_here()
    if settings.executor != "ray":  # Ray would have to be started or connected to
        make_executor(
            settings.executor, settings.n_workers, compiled=True, **settings.executor_options
        ).close()
    return settings
