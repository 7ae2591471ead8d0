"""Tasks that a user has written, named as FILE.py:CLASS."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from distsvm.cli.parser import Group
from distsvm.data.opening import FORMATS as ALL_FORMATS
from distsvm.errors import ConfigError
from distsvm.kinds import Plain, Table
from distsvm.options import Option
from distsvm.oracles.task import Task
from distsvm.wording import message

TITLE = "tasks of your own"
# Those whose examples are values of Python, and not arrays packed for a kernel.
FORMATS = tuple(name for name in ("jsonl", "parquet", "treebank") if name in ALL_FORMATS)
LOSSES = "have theirs in their code"
OPTIONS = {
    "task_options": Option(
        Table(Plain(), "numbers, texts and truth values"),
        message("fields of the task, such as dim=8"),
        flag="--task-options",
        metavar="NAME=VALUE,…",
        name="task_options",
    )
}
FLAGS = {name: own.flag for name, own in OPTIONS.items()}


def add(group: Group) -> None:
    for own in OPTIONS.values():
        group.declared(own)


def named(name: str) -> bool:
    """Whether this names a task of the user's own."""
    return ".py:" in name


def file_of(name: str) -> Path:
    """The file that holds the task."""
    return Path(name.rpartition(":")[0])


def make(name: str, given: dict[str, Any]) -> Task:
    """The task with its options as fields."""
    task_class, options = load_class(name), given.get("task_options", {})
    known: list[str] = [f.name for f in fields(task_class)] if is_dataclass(task_class) else []
    for option in options:
        if option not in known:
            raise ConfigError(
                f"--task-options {option}: {task_class.__name__} has no such field; it has "
                f"{', '.join(known) or 'none'}"
            )
    try:
        return task_class(**options)
    except Exception as error:
        raise ConfigError(f"--task {name}: cannot be made: {error}") from error


def load_class(name: str) -> type[Task]:
    """The class that FILE.py:CLASS names; its code is run."""
    path, class_name = file_of(name), name.rpartition(":")[2]
    if not path.is_file():
        raise ConfigError(f"--task {name}: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # where dataclasses look for the names of types
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"--task {name}: {type(error).__name__}: {error}") from error
    finally:
        # Not left there: what is in no module that others could import travels by value.
        del sys.modules[path.stem]
        if before is not None:
            sys.modules[path.stem] = before
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ConfigError(f"--task {name}: {path} has no class {class_name} that is a distsvm.Task")
    return found
