"""The options of tasks: --task, the shared ones, and those of one structure."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from distsvm.cli.models import file_of, is_own_code, load_class
from distsvm.cli.parser import Parser
from distsvm.cli.parts import SHARED, Options, by_title, part_of, parts
from distsvm.errors import ConfigError, DistSVMError
from distsvm.kinds import text
from distsvm.options import ABSENT, Option
from distsvm.oracles.structure import Structure
from distsvm.oracles.task import Task
from distsvm.registry import own_structure, structure_of, task_classes
from distsvm.wording import message


def shared_options() -> list[Option]:
    """Return the options in SHARED; the help names the tasks, unless the option is for all."""
    found = parts(Options)
    shared: dict[str, Option] = {}
    for part in found.values():
        shared = {name: own for name, own in part.declared.items() if name in SHARED} | shared
    losses = {
        one.title: part.losses or part.declared["losses"].help
        for one, part in found.items()
        if part.losses or "losses" in part.declared
    }
    shared["losses"] = replace(
        shared["losses"], kind=text, help=message("{}", by_title(losses)), default=ABSENT
    )
    for name, own in shared.items():
        whose = [task for one, part in found.items() if name in part.declared for task in one.tasks]
        if name != "losses" and len(whose) < len(task_classes()):
            help = message("{}: {}", ", ".join(whose), own.help)
            shared[name] = replace(own, help=help)
    return list(shared.values())


def own_options() -> dict[str, list[Option]]:
    """Return the other options of tasks, by title of the structure.

    Where structures share a field and its flag, the first declaration counts.
    """
    found: dict[str, list[Option]] = {}
    seen: set[tuple[str, str]] = set()
    for title, part in _once().items():
        found[title] = [own for name, own in part.own.items() if (own.flag, name) not in seen]
        seen |= {(own.flag, own.name) for own in found[title]}
    return found


def _once() -> Mapping[str, Options]:
    """Return all Options by title; those that several structures share are there once."""
    titles = {part: one.title for one, part in parts(Options).items()}
    return {title: part for part, title in titles.items()}


def add_task(parser: Parser) -> None:
    """Add --task and all options of tasks."""
    group = parser.group("task")
    group.flag(
        "--task", text, required=True, metavar="TASK",
        help=f"what to predict: {', '.join(sorted(task_classes()))}, or a task of your own as "
        "FILE.py:CLASS",
    )  # fmt: skip
    for own in shared_options():
        group.declared(own)
    all_parts = _once()
    for title, options in own_options().items():
        group = parser.group(f"task: {title} only")
        for own in options:
            group.declared(own)
        all_parts[title].add(group)


def make_task(args: argparse.Namespace) -> Task:
    """Return the task that the options describe; refuse options of other structures."""
    task_class, structure = _named(args.task)
    chosen = part_of(structure, Options)
    for other, part in parts(Options).items():
        for field, own in part.own.items():
            if hasattr(args, field) and field not in chosen.own:
                raise ConfigError(f"{own.flag} is for {other.title}, not for --task {args.task}")
    given = _given(args, chosen)
    try:
        return chosen.make(task_class, given)
    except DistSVMError:
        raise
    except Exception as error:  # a user's class can raise anything
        raise ConfigError(f"--task {args.task}: cannot be made: {error}") from error


def files_of(args: argparse.Namespace) -> list[tuple[str, Path, str]]:
    """Return the files that the task's options name: field, file, and the text after its name."""
    if is_own_code(args.task):
        return [("task", file_of(args.task), f":{args.task.rpartition(':')[2]}")]
    chosen = part_of(_named(args.task)[1], Options)
    return [(field, path, "") for field, path in chosen.files(_given(args, chosen)).items()]


def _named(name: str) -> tuple[type[Task], Structure]:
    """Return the class of a task and the structure that has its options."""
    if is_own_code(name):
        return load_class(name), own_structure()
    task_class = task_classes().get(name)
    if task_class is None:
        known = ", ".join(sorted(task_classes()))
        raise ConfigError(f"--task {name}: expected one of {known}, or FILE.py:CLASS")
    return task_class, structure_of(task_class)


def _given(args: argparse.Namespace, chosen: Options) -> dict[str, Any]:
    for own in shared_options():
        if hasattr(args, own.name) and own.name not in chosen.declared:
            raise ConfigError(f"{own.flag} is not for --task {args.task}")
    return {f: getattr(args, f) for f in (*SHARED, *chosen.own) if hasattr(args, f)}
