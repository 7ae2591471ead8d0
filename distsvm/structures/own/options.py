"""The options of tasks that users write: all their fields."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from distsvm.cli.parts import Options
from distsvm.errors import ConfigError
from distsvm.kinds import Plain, Table
from distsvm.options import Option
from distsvm.oracles.task import Task
from distsvm.wording import message

TASK_OPTIONS = Option(
    Table(Plain(), "numbers, texts and truth values"),
    message("fields of the task, such as dim=8"),
    flag="--task-options",
    metavar="NAME=VALUE,…",
    name="task_options",
)


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


OPTIONS = Options({TASK_OPTIONS.name: TASK_OPTIONS}, losses="have theirs in their code", make=make)
