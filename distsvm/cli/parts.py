"""The parts of a structure that the command line uses, and how it gets them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from distsvm.cli.output import Output
from distsvm.cli.parser import Group
from distsvm.cli.writer import Writer
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.options import Option
from distsvm.oracles.structure import Structure, imported
from distsvm.oracles.task import Task
from distsvm.registry import own_structure, structures
from distsvm.workers.shard_worker import ShardWorker

SHARED = ("losses", "loss_scale", "unfit")
"""Fields that tasks of several structures have. Each has one flag for all of them."""


@dataclass(frozen=True, eq=False)
class Options:
    """The options of a structure's tasks.

    Parameters
    ----------
    declared : mapping of str to Option
        Options by field, as distsvm.options.declared returns them.
    losses : str, optional
        Help for --loss, where no field `losses` declares it.
    add : function of a group
        Adds more flags for the same fields.
    make : function of the task's class and the given fields
        Checks the fields and returns the task.
    files : function of the given fields
        Returns the files that the fields name, by field.
    """

    declared: Mapping[str, Option]
    losses: str = ""
    add: Callable[[Group], None] = lambda group: None
    make: Callable[[type[Task], dict[str, Any]], Task] = lambda task_class, given: task_class(
        **given
    )
    files: Callable[[dict[str, Any]], dict[str, Path]] = lambda given: {}

    @property
    def own(self) -> dict[str, Option]:
        """Options with a flag that are not in SHARED."""
        return {name: one for name, one in self.declared.items() if name not in SHARED and one.flag}


@dataclass(frozen=True, eq=False)
class Predictions:
    """The part for `predict`.

    Parameters
    ----------
    help : str
        Content of a line of output.
    writer : function of arguments, model and output
        Returns the Writer for predictions of the model.
    flags : mapping of str to str
        Flags of this structure only, by destination.
    add : function of a group, or several
        Add these flags. A function that several structures name adds its flags once.
    """

    help: str
    writer: Callable[[argparse.Namespace, Model, Output], Writer]
    flags: Mapping[str, str] = field(default_factory=dict)
    add: Callable[[Group], None] | tuple[Callable[[Group], None], ...] = ()


@dataclass(frozen=True, eq=False)
class Scores:
    """The part for `evaluate`.

    Parameters
    ----------
    help : str
    counted : function of a worker and w
        Returns the counts of one shard; counts can be added. It is a function of a module, because
        it is sent to other processes.
    facts : function of the task and the sum of counts
        Returns the scores as JSON values.
    lines : function of these facts and the output
        Returns the scores as text.
    """

    help: str
    counted: Callable[[ShardWorker, np.ndarray], Any]
    facts: Callable[[Any, Any], dict[str, Any]]
    lines: Callable[[dict[str, Any], Output], list[str]]


@dataclass(frozen=True, eq=False)
class Inspection:
    """The part for `inspect` of a model.

    Parameters
    ----------
    help : str
        Which weights are listed.
    facts : function of arguments and model
        Returns JSON values, with args.top of the largest weights.
    rows : function of these facts
        Returns names with values, as text.
    lines : function of these facts and the output
        Returns the largest weights, as text.
    flags, add :
        As in Predictions.
    """

    help: str
    facts: Callable[[argparse.Namespace, Model], dict[str, Any]]
    lines: Callable[[dict[str, Any], Output], list[str]]
    rows: Callable[[dict[str, Any]], list[tuple[str, str]]] = lambda facts: []
    flags: Mapping[str, str] = field(default_factory=dict)
    add: Callable[[Group], None] = lambda group: None


Part = TypeVar("Part", bound=Options | Predictions | Scores | Inspection)


def all_structures() -> list[Structure]:
    """Return all structures, with that of tasks in plain Python at the end."""
    return [*structures().values(), own_structure()]


def part_of(structure: Structure, kind: type[Part]) -> Part:
    """Return the structure's part of this class, which its field of the same name refers to."""
    return imported(getattr(structure, kind.__name__.lower()))


def parts(kind: type[Part]) -> dict[Structure, Part]:
    """Return the parts of this class of all structures."""
    return {one: part_of(one, kind) for one in all_structures()}


def add_parts(group: Group, kind: type[Predictions] | type[Inspection]) -> None:
    """Add the flags that only some structures have."""
    adds = (part.add for part in parts(kind).values())
    several = (add if isinstance(add, tuple) else (add,) for add in adds)
    for add in dict.fromkeys(chain.from_iterable(several)):
        add(group)


def check_model_flags(args: argparse.Namespace, own: Predictions | Inspection) -> None:
    """Refuse flags that are only for models of other structures."""
    every = parts(type(own))
    for part in every.values():
        for dest, flag in part.flags.items():
            if hasattr(args, dest) and dest not in own.flags:
                titles = [one.title for one, other in every.items() if dest in other.flags]
                raise ConfigError(f"{flag} is only for models of {' and '.join(titles)}")


def helps(kind: type[Predictions] | type[Scores] | type[Inspection]) -> str:
    return by_title({one.title: part.help for one, part in parts(kind).items()})


def by_title(texts: Mapping[str, str]) -> str:
    """Return a sentence for each structure: `Classes: …. Sequences: ….`"""
    return ". ".join(f"{title.capitalize()}: {text}" for title, text in texts.items())
