"""The options of sequence tagging."""

from __future__ import annotations

from typing import Any

from distsvm.cli.parser import Group
from distsvm.errors import ConfigError
from distsvm.options import declared
from distsvm.oracles.task import Task
from distsvm.structures.sequences.task import SequenceTask
from distsvm.wording import message

TITLE = "sequences"
FORMATS = ("conll", "conllu", "svmhmm", "jsonl", "parquet", "text")
OPTIONS = declared(SequenceTask)
LOSSES = OPTIONS["losses"].help
FLAGS = {name: OPTIONS[name].flag for name in ("order", "allowed", "min_count", "hash_bits")}


def add(group: Group) -> None:
    for name in FLAGS:
        group.declared(OPTIONS[name])


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    task = SequenceTask(**given)
    task.check_settings()
    if task.min_count > 1 and task.hash_bits is not None:
        raise ConfigError(
            message("{min_count} needs a dictionary of features, {hash_bits} makes none")
        )
    return task
