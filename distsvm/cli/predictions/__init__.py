"""What `predict` writes, for each structure.

A module for each structure has the FLAGS of its own options, `add(group)`, which adds these, and
`writer(args, model, output)`.
"""

from __future__ import annotations

import argparse

from distsvm.cli.output import Output
from distsvm.cli.parser import Group
from distsvm.cli.structure import chosen
from distsvm.cli.writer import Writer
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.structures.classes import predictions as classes
from distsvm.structures.own import predictions as own
from distsvm.structures.sequences import predictions as sequence
from distsvm.structures.trees import predictions as parse

MODULES = (classes, sequence, parse, own)


def add_writers(group: Group) -> None:
    """Add the options of every structure."""
    for module in MODULES:
        module.add(group)


def make_writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    """The writer for this model; options of other structures are refused by name."""
    meant = chosen(model.task, classes=classes, sequence=sequence, parse=parse, own=own)
    for module in MODULES:
        for dest, flag in module.FLAGS.items():
            if hasattr(args, dest) and module is not meant:
                raise ConfigError(f"{flag} is only for models of {module.TITLE}")
    return meant.writer(args, model, output)
