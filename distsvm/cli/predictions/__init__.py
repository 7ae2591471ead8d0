"""What `predict` writes, for each structure.

A module for each structure has the FLAGS of its own options, `add(group)`, which adds these, and
`writer(args, model, output)`.
"""

from __future__ import annotations

import argparse
from types import ModuleType

from distsvm.cli.output import Output
from distsvm.cli.predictions import classes, parse, sequence
from distsvm.cli.predictions.writer import Writer
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.tasks.base import Task
from distsvm.tasks.classes import ClassTask
from distsvm.tasks.parse import ParseTask
from distsvm.tasks.sequence import SequenceTask

STRUCTURES: dict[type[Task], ModuleType] = {
    ClassTask: classes,
    SequenceTask: sequence,
    ParseTask: parse,
}


def add_writers(group: argparse._ArgumentGroup) -> None:
    """Add the options of every structure."""
    for module in STRUCTURES.values():
        module.add(group)


def make_writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    """The writer for this model; options of other structures are refused by name."""
    own = next(m for cls, m in STRUCTURES.items() if isinstance(model.task, cls))
    for module in STRUCTURES.values():
        for dest, flag in module.FLAGS.items():
            if hasattr(args, dest) and module is not own:
                raise ConfigError(f"{flag} is only for models of {module.TITLE}")
    return own.writer(args, model, output)
