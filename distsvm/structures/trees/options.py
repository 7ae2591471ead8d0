"""The options of parsing."""

from __future__ import annotations

from typing import Any

from distsvm.cli.parser import Group
from distsvm.errors import ConfigError
from distsvm.options import declared
from distsvm.oracles.task import Task
from distsvm.structures.trees.task import ParseTask
from distsvm.wording import message

TITLE = "trees"
FORMATS = ("treebank", "jsonl", "text")
OPTIONS = declared(ParseTask)
LOSSES = OPTIONS["losses"].help
FLAGS = {name: OPTIONS[name].flag for name in ("max_chain", "memory_mb", "words", "min_word_count")}


def add(group: Group) -> None:
    for name in FLAGS:
        group.declared(OPTIONS[name])


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    if "min_word_count" in given and "words" not in given:
        raise ConfigError(message("{min_word_count} is for grammars over words: give {words} too"))
    return task_class(**given)
