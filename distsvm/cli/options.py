"""The options of a training run: those that the library declares, as flags."""

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


def config_options() -> dict[str, list[Option]]:
    """The options of training, of executors and of solvers, by the titles of their groups."""
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
    """Add the options of these names (all, unless given)."""
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
    """Add the options of where to run, for what is not training."""
    add_config(parser, WHERE)


def given_config(args: argparse.Namespace, fields: Collection[str] | None = None) -> dict[str, Any]:
    """The options of training and of solvers that were given on the command line."""
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
        # Those of an earlier executor do not fit another one.
        config["executor_options"] = extras
    return config


def check_config(config: dict[str, Any]) -> TrainConfig:
    """Refuse what can be refused before any data is read; returns the configuration."""
    settings = TrainConfig.from_dict(config)
    for solver in solver_options():
        settings.options_of(solver).check_here()
    if settings.executor != "ray":  # which may have to be connected to
        make_executor(
            settings.executor, settings.n_workers, compiled=True, **settings.executor_options
        ).close()
    return settings
