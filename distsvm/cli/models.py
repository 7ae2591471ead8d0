"""The model that a verb uses, and the code of its task."""

from __future__ import annotations

from distsvm.cli.own_code import load_class, named
from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import path, text
from distsvm.model import Model, load_model
from distsvm.storage import Where


def add_model(parser: Parser) -> None:
    """Add --model and --task."""
    parser.general.flag(
        "--model", path, required=True, metavar="DIR",
        help="folder of the model, or of a run, whose model is taken",
    )  # fmt: skip
    add_model_task(parser)


def add_model_task(parser: Parser) -> None:
    """Add --task, for models of tasks that are not built in."""
    parser.general.flag(
        "--task", text, metavar="FILE.py:CLASS",
        help="the task of the model, if it is one of your own: code is never taken from the folder",
    )  # fmt: skip


def read_model(folder: Where, task: str | None) -> Model:
    """The model in a folder; `task` is FILE.py:CLASS, or None for a built-in task."""
    if task is not None and not named(task):
        expected = "FILE.py:CLASS; models of built-in tasks need no --task"
        raise ConfigError(f"--task {task}: expected {expected}")
    return load_model(folder, None if task is None else load_class(task))
