"""The options of tasks: which structure, which loss, and what only some structures have.

A module for each structure has its TITLE, the FORMATS of files that it reads, the FLAGS of its own
options by the task's fields, `add(group)`, which adds these, and `make(name, given)`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from types import ModuleType

from distsvm.cli.readers import number
from distsvm.errors import ConfigError
from distsvm.oracles.description import TASKS
from distsvm.oracles.task import Task
from distsvm.structures.classes import options as classes
from distsvm.structures.own import options as own
from distsvm.structures.sequences import options as sequence
from distsvm.structures.trees import options as parse

STRUCTURES: dict[str, ModuleType] = {
    "binary": classes,
    "multiclass": classes,
    "parse": parse,
    "sequence": sequence,
}
SHARED = {"losses": "--loss", "loss_scale": "--loss-scale", "unfit": "--unfit"}


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add --task and what a task can be told."""
    group = parser.add_argument_group("task")
    absent = argparse.SUPPRESS
    group.add_argument(
        "--task", required=True, metavar="TASK",
        help=f"what to predict: {', '.join(sorted(STRUCTURES))}, or a task of your own as "
        "FILE.py:CLASS",
    )  # fmt: skip
    modules = [*dict.fromkeys(STRUCTURES.values()), own]
    losses = ". ".join(f"{module.TITLE.capitalize()}: {module.LOSSES}" for module in modules)
    group.add_argument("--loss", dest="losses", metavar="LOSS", default=absent, help=f"{losses}")
    group.add_argument(
        "--loss-scale", type=number, metavar="S", default=absent,
        help="multiplies every loss, and so the unit of --eps. Default: 1",
    )  # fmt: skip
    group.add_argument(
        "--unfit", choices=("error", "drop"), default=absent,
        help="sequence, parse: what to do with training examples whose output breaks the hard "
        "constraints or the grammar: refuse the first by name (error, the default), or leave all "
        "of them out and count them (drop)",
    )  # fmt: skip
    for module in modules:
        module.add(parser.add_argument_group(f"task: {module.TITLE} only"))


def make_task(args: argparse.Namespace) -> Task:
    """The task that the options describe; those of other structures are refused by name."""
    chosen = own if own.named(args.task) else STRUCTURES.get(args.task)
    if chosen is None:
        raise ConfigError(
            f"--task {args.task}: expected one of {', '.join(sorted(STRUCTURES))}, or FILE.py:CLASS"
        )
    for module in (*STRUCTURES.values(), own):
        for field, flag in module.FLAGS.items():
            if hasattr(args, field) and field not in chosen.FLAGS:
                raise ConfigError(f"{flag} is for {module.TITLE}, not for --task {args.task}")
    given = {f: getattr(args, f) for f in (*SHARED, *chosen.FLAGS) if hasattr(args, f)}
    for field in SHARED.keys() & given.keys():
        if chosen is own or (field == "unfit" and chosen is classes):
            raise ConfigError(f"{SHARED[field]} is not for --task {args.task}")
    if chosen is own:
        return own.make(args.task, given)
    if not 0 < given.get("loss_scale", 1.0) < math.inf:
        raise ConfigError(f"--loss-scale {given['loss_scale']}: expected a number > 0")
    return chosen.make(TASKS[args.task], given)


def files_of(args: argparse.Namespace) -> list[tuple[str, Path, str]]:
    """The files that the task's options name: the option's field, the file, and what follows."""
    if own.named(args.task):
        return [("task", own.file_of(args.task), f":{args.task.rpartition(':')[2]}")]
    losses = getattr(args, "losses", "zero-one")
    if STRUCTURES[args.task] is classes and losses != "zero-one":
        return [("losses", Path(losses), "")]
    return []


def formats_of(task: Task) -> tuple[str, ...]:
    """The formats of files that hold this task's examples; the first where nothing is known."""
    names = [name for name, cls in TASKS.items() if type(task) is cls]
    return STRUCTURES[names[0]].FORMATS if names else own.FORMATS
