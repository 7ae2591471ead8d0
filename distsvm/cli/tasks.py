"""The options of tasks: which task, which loss, and what only some structures have."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from distsvm.cli.own_code import file_of, load_class, named
from distsvm.cli.parser import Parser
from distsvm.cli.parts import SHARED, Options, all_structures, by_title, options_of
from distsvm.errors import ConfigError, DistSVMError
from distsvm.kinds import text
from distsvm.options import ABSENT, Option
from distsvm.oracles.structure import Structure
from distsvm.oracles.task import Task
from distsvm.registry import own_structure, structure_of, task_classes
from distsvm.wording import message


def shared_options() -> list[Option]:
    """The options that tasks of several structures have, with whose they are in their help."""
    parts = {structure: options_of(structure) for structure in all_structures()}
    shared: dict[str, Option] = {}
    for part in parts.values():
        shared = {name: own for name, own in part.declared.items() if name in SHARED} | shared
    losses = {
        one.title: part.losses or part.declared["losses"].help
        for one, part in parts.items()
        if part.losses or "losses" in part.declared
    }
    shared["losses"] = replace(
        shared["losses"], kind=text, help=message("{}", by_title(losses)), default=ABSENT
    )
    for name, own in shared.items():
        whose = [task for one, part in parts.items() if name in part.declared for task in one.tasks]
        if name != "losses" and len(whose) < len(task_classes()):
            help = message("{}: {}", ", ".join(whose), own.help)
            shared[name] = replace(own, help=help)
    return list(shared.values())


def own_options() -> dict[str, list[Option]]:
    """The options of each structure's tasks beside these, by its title.

    Structures that share a flag share what the first says of it.
    """
    found: dict[str, list[Option]] = {}
    seen: set[str] = set()
    for title, part in _parts().items():
        found[title] = [own for own in part.own.values() if own.flag not in seen]
        seen |= {own.flag for own in found[title]}
    return found


def _parts() -> dict[str, Options]:
    """The options of each structure by its title; those of tasks in plain Python once."""
    titles = {options_of(one): one.title for one in all_structures()}
    return {title: part for part, title in titles.items()}


def add_task(parser: Parser) -> None:
    """Add --task and what a task can be told."""
    group = parser.group("task")
    group.flag(
        "--task", text, required=True, metavar="TASK",
        help=f"what to predict: {', '.join(sorted(task_classes()))}, or a task of your own as "
        "FILE.py:CLASS",
    )  # fmt: skip
    for own in shared_options():
        group.declared(own)
    parts = _parts()
    for title, options in own_options().items():
        group = parser.group(f"task: {title} only")
        for own in options:
            group.declared(own)
        parts[title].add(group)


def make_task(args: argparse.Namespace) -> Task:
    """The task that the options describe; those of other structures are refused by name."""
    task_class, structure = _named(args.task)
    chosen = options_of(structure)
    for other in all_structures():
        for field, own in options_of(other).own.items():
            if hasattr(args, field) and field not in chosen.own:
                raise ConfigError(f"{own.flag} is for {other.title}, not for --task {args.task}")
    given = _given(args, chosen)
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
    for own in shared_options():
        if hasattr(args, own.name) and own.name not in chosen.declared:
            raise ConfigError(f"{own.flag} is not for --task {args.task}")
    return {f: getattr(args, f) for f in (*SHARED, *chosen.own) if hasattr(args, f)}
