"""The options of parsing."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.readers import number, whole
from distsvm.tasks.base import Task

TITLE = "trees"
FORMATS = ("treebank",)
LOSSES = (
    "f1 (default), 1 − F1 over the spans of binary trees; brackets, how many labelled ones are in "
    "one of the trees only; or zero-one"
)
FLAGS = {"max_chain": "--max-chain", "memory_mb": "--memory-mb"}


def add(group: argparse._ArgumentGroup) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--max-chain", type=whole, metavar="N", default=absent,
        help="longest unary chain, in rules, that is possible without having been seen. Default: 4",
    )  # fmt: skip
    group.add_argument(
        "--memory-mb", type=number, metavar="MB", default=absent,
        help="limit of the memory (in MiB) that the search takes for one sentence. Default: 1024",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    return task_class(**given)
