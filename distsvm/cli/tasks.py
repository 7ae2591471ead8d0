"""The options of tasks: which task, which loss, and what only some structures have."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from distsvm.cli.own_code import file_of, load_class, named
from distsvm.cli.parts import Options, all_structures, by_title, options_of
from distsvm.cli.readers import number
from distsvm.errors import ConfigError, DistSVMError
from distsvm.oracles.structure import Structure
from distsvm.oracles.task import Task
from distsvm.registry import own_structure, structure_of, task_classes

SHARED = {"losses": "--loss", "loss_scale": "--loss-scale", "unfit": "--unfit"}


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add --task and what a task can be told."""
    group = parser.add_argument_group("task")
    absent = argparse.SUPPRESS
    group.add_argument(
        "--task", required=True, metavar="TASK",
        help=f"what to predict: {', '.join(sorted(task_classes()))}, or a task of your own as "
        "FILE.py:CLASS",
    )  # fmt: skip
    parts = {structure: options_of(structure) for structure in all_structures()}
    losses = by_title({structure.title: options.losses for structure, options in parts.items()})
    group.add_argument("--loss", dest="losses", metavar="LOSS", default=absent, help=losses)
    group.add_argument(
        "--loss-scale", type=number, metavar="S", default=absent,
        help="multiplies every loss, and so the unit of --eps. Default: 1",
    )  # fmt: skip
    choosy = [
        name for one, options in parts.items() if "unfit" in options.shared for name in one.tasks
    ]
    group.add_argument(
        "--unfit", choices=("error", "drop"), default=absent,
        help=f"{', '.join(choosy)}: what to do with training examples whose output breaks the hard "
        "constraints or the grammar: refuse the first by name (error, the default), or leave all "
        "of them out and count them (drop)",
    )  # fmt: skip
    for options, title in {options: one.title for one, options in parts.items()}.items():
        options.add(parser.add_argument_group(f"task: {title} only"))


def make_task(args: argparse.Namespace) -> Task:
    """The task that the options describe; those of other structures are refused by name."""
    task_class, structure = _named(args.task)
    chosen = options_of(structure)
    for other in all_structures():
        for field, flag in options_of(other).flags.items():
            if hasattr(args, field) and field not in chosen.flags:
                raise ConfigError(f"{flag} is for {other.title}, not for --task {args.task}")
    given = _given(args, chosen)
    if not 0 < given.get("loss_scale", 1.0) < math.inf:
        raise ConfigError(f"--loss-scale {given['loss_scale']}: expected a number > 0")
    try:
        return chosen.make(task_class, given)
    except DistSVMError:
        raise
    except Exception as error:  # the code of a class may be anybody's
        raise ConfigError(f"--task {args.task}: cannot be made: {error}") from error


def files_of(args: argparse.Namespace) -> list[tuple[str, Path, str]]:
    """The files that the task's options name: the option's field, the file, and what follows."""
    if named(args.task):
        return [("task", file_of(args.task), f":{args.task.rpartition(':')[2]}")]
    chosen = options_of(_named(args.task)[1])
    return [(field, path, "") for field, path in chosen.files(_given(args, chosen)).items()]


def _named(name: str) -> tuple[type[Task], Structure]:
    """The class of a task, and the structure whose options it has."""
    if named(name):
        return load_class(name), own_structure()
    task_class = task_classes().get(name)
    if task_class is None:
        known = ", ".join(sorted(task_classes()))
        raise ConfigError(f"--task {name}: expected one of {known}, or FILE.py:CLASS")
    return task_class, structure_of(task_class)


def _given(args: argparse.Namespace, chosen: Options) -> dict[str, Any]:
    """The fields of the task that are given."""
    for field, flag in SHARED.items():
        if hasattr(args, field) and field not in chosen.shared:
            raise ConfigError(f"{flag} is not for --task {args.task}")
    return {f: getattr(args, f) for f in (*SHARED, *chosen.flags) if hasattr(args, f)}
