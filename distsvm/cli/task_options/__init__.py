"""The options of tasks: which structure, which loss, and what only some structures have.

A module for each structure has its TITLE, the FORMATS of files that it reads, the OPTIONS that its
task declares, the FLAGS of its own ones by the task's fields, `add(group)`, which adds these, and
`make(name, given)`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.kinds import text
from distsvm.options import ABSENT, Option
from distsvm.oracles.description import TASKS
from distsvm.oracles.task import Task
from distsvm.structures.classes import options as classes
from distsvm.structures.own import options as own
from distsvm.structures.sequences import options as sequence
from distsvm.structures.trees import options as parse
from distsvm.wording import message

STRUCTURES: dict[str, ModuleType] = {
    "binary": classes,
    "multiclass": classes,
    "parse": parse,
    "sequence": sequence,
}
SHARED = {"losses": "--loss", "loss_scale": "--loss-scale", "unfit": "--unfit"}
MODULES = (*dict.fromkeys(STRUCTURES.values()), own)


def shared_options() -> list[Option]:
    """The options that tasks of several structures have."""
    shared: dict[str, Option] = {}
    for module in MODULES:
        shared = {name: own for name, own in module.OPTIONS.items() if name in SHARED} | shared
    losses = ". ".join(f"{module.TITLE.capitalize()}: {module.LOSSES}" for module in MODULES)
    shared["losses"] = replace(
        shared["losses"], kind=text, help=message("{}", losses), default=ABSENT
    )
    shared["unfit"] = replace(
        shared["unfit"], help=message("sequence, parse: {}", shared["unfit"].help)
    )
    return list(shared.values())


def task_options() -> list[Option]:
    """Every option of a task: those that several structures have, and then their own."""
    return [*shared_options(), *(each for module in MODULES for each in own_options(module))]


def own_options(module: ModuleType) -> list[Option]:
    """The options that only this structure has."""
    return [each for name, each in module.OPTIONS.items() if name not in SHARED]


def add_task(parser: Parser) -> None:
    """Add --task and what a task can be told."""
    group = parser.group("task")
    group.flag(
        "--task", text, required=True, metavar="TASK",
        help=f"what to predict: {', '.join(sorted(STRUCTURES))}, or a task of your own as "
        "FILE.py:CLASS",
    )  # fmt: skip
    for each in shared_options():
        group.declared(each)
    for module in MODULES:
        module.add(parser.group(f"task: {module.TITLE} only"))


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
