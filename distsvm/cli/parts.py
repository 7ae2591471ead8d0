"""What the command line asks of a structure."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
"""Fields that tasks of several structures have; their flags are for all of these."""


def _adds_nothing(group: Group) -> None:
    """For what has no flags of its own."""


def _no_files(given: dict[str, Any]) -> dict[str, Path]:
    return {}


def _made(task_class: type[Task], given: dict[str, Any]) -> Task:
    return task_class(**given)


@dataclass(frozen=True, eq=False)
class Options:
    """What can be said of a task.

    Parameters
    ----------
    declared : mapping of str to Option
        The options of its tasks by field, as distsvm.options.declared gives them.
    losses : str, optional
        What --loss may be, for its help, where no field `losses` declares it.
    add : function of a group
        Adds more flags for the same fields.
    make : function of the task's class and the given fields
        Checks them and returns the task.
    files : function of the given fields
        The files that they name, by field.
    """

    declared: Mapping[str, Option]
    losses: str = ""
    add: Callable[[Group], None] = _adds_nothing
    make: Callable[[type[Task], dict[str, Any]], Task] = _made
    files: Callable[[dict[str, Any]], dict[str, Path]] = _no_files

    @property
    def own(self) -> dict[str, Option]:
        """Those that tasks of other structures do not share."""
        return {name: one for name, one in self.declared.items() if name not in SHARED and one.flag}


@dataclass(frozen=True, eq=False)
class Predictions:
    """What `predict` writes.

    Parameters
    ----------
    help : str
        What stands on a line.
    writer : function of arguments, model and output
        Returns what writes the predictions of the model.
    flags, add :
        The flags of its own, and what adds them.
    """

    help: str
    writer: Callable[[argparse.Namespace, Model, Output], Writer]
    flags: Mapping[str, str] = field(default_factory=dict)
    add: Callable[[Group], None] = _adds_nothing


@dataclass(frozen=True, eq=False)
class Scores:
    """What `evaluate` counts and shows.

    Parameters
    ----------
    help : str
    counted : function of a worker and w
        The counts of one piece of the data, which add up; a function of a module, so that it can
        be sent to other processes.
    facts : function of the task and the sum of counts
        Returns them in JSON's terms.
    lines : function of these facts and the output
        Returns them for people.
    """

    help: str
    counted: Callable[[ShardWorker, np.ndarray], Any]
    facts: Callable[[Any, Any], dict[str, Any]]
    lines: Callable[[dict[str, Any], Output], list[str]]


@dataclass(frozen=True, eq=False)
class Inspection:
    """What `inspect` shows of a model.

    Parameters
    ----------
    help : str
        Which weights are listed.
    facts : function of arguments and model
        Returns the model in JSON's terms, with args.top of the largest weights.
    rows : function of these facts
        Returns names with values for people.
    lines : function of these facts and the output
        Returns the largest weights for people.
    flags, add :
        As in Predictions.
    """

    help: str
    facts: Callable[[argparse.Namespace, Model], dict[str, Any]]
    lines: Callable[[dict[str, Any], Output], list[str]]
    rows: Callable[[dict[str, Any]], list[tuple[str, str]]] = lambda facts: []
    flags: Mapping[str, str] = field(default_factory=dict)
    add: Callable[[Group], None] = _adds_nothing


def all_structures() -> list[Structure]:
    """All structures, that of tasks in plain Python last."""
    return [*structures().values(), own_structure()]


def options_of(structure: Structure) -> Options:
    return imported(structure.options)


def predictions_of(structure: Structure) -> Predictions:
    return imported(structure.predictions)


def scores_of(structure: Structure) -> Scores:
    return imported(structure.scores)


def inspection_of(structure: Structure) -> Inspection:
    return imported(structure.inspection)


def check_model_flags(
    args: argparse.Namespace,
    parts: Mapping[str, Predictions] | Mapping[str, Inspection],
    meant: Predictions | Inspection,
) -> None:
    """Refuse flags that are only for models of another structure; `parts` by title."""
    for part in parts.values():
        for dest, flag in part.flags.items():
            if hasattr(args, dest) and dest not in meant.flags:
                titles = [title for title, one in parts.items() if dest in one.flags]
                raise ConfigError(f"{flag} is only for models of {' and '.join(titles)}")


def by_title(texts: Mapping[str, str]) -> str:
    """A sentence for each structure: `Classes: …. Sequences: ….`"""
    return ". ".join(f"{title.capitalize()}: {text}" for title, text in texts.items())
