"""The options of tasks that users have written: any fields of theirs."""

from __future__ import annotations

import argparse
from dataclasses import fields, is_dataclass
from typing import Any

from distsvm.cli.parts import Options
from distsvm.cli.readers import settings
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task


def add(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--task-options", type=settings, metavar="NAME=VALUE,…", default=argparse.SUPPRESS,
        help="fields of the task, such as dim=8",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    options = given.get("task_options", {})
    known: list[str] = [f.name for f in fields(task_class)] if is_dataclass(task_class) else []
    for option in options:
        if option not in known:
            raise ConfigError(
                f"--task-options {option}: {task_class.__name__} has no such field; it has "
                f"{', '.join(known) or 'none'}"
            )
    return task_class(**options)


OPTIONS = Options(
    "have theirs in their code", flags={"task_options": "--task-options"}, add=add, make=make
)
