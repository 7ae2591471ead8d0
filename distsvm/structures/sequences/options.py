"""The options of sequence tagging."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.readers import whole
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task
from distsvm.structures.sequences.task import SequenceTask

TITLE = "sequences"
FORMATS = ("conll", "conllu", "svmhmm", "jsonl", "parquet", "text")
LOSSES = "hamming (default), the number of wrong tags; or zero-one, 1 if any is wrong"
FLAGS = {
    "order": "--order",
    "allowed": "--allowed",
    "min_count": "--min-count",
    "hash_bits": "--hash-bits",
}


def add(group: argparse._ArgumentGroup) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--order", type=whole, metavar="N", default=absent,
        help="1 or 2: how many tags before it a tag's transition weight looks at. Default: 1",
    )  # fmt: skip
    group.add_argument(
        "--allowed", choices=("bio",), default=absent,
        help="hard constraints in training and prediction; bio: I-X only after B-X or I-X. "
        "Default: none",
    )  # fmt: skip
    group.add_argument(
        "--min-count", type=whole, metavar="N", default=absent,
        help="named features that occur less often in the training data are left out. Default: 1",
    )  # fmt: skip
    group.add_argument(
        "--hash-bits", type=whole, metavar="B", default=absent,
        help="hash features to 2^B columns instead of making a dictionary of them. "
        "Default: a dictionary",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    task = SequenceTask(**given)
    task.check_settings()
    if task.min_count > 1 and task.hash_bits is not None:
        raise ConfigError("--min-count needs a dictionary of features, --hash-bits makes none")
    return task
