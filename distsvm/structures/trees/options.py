"""The options of parsing."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.parts import Options, Reading
from distsvm.cli.readers import number, whole
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task

LOSSES = (
    "f1 (default), 1 − F1 over the spans of binary trees; brackets, how many labelled ones are in "
    "one of the trees only; zero-one; or f1-brackets, 1 − F1 over the original brackets, for "
    "sentences of at most 10 words"
)
FLAGS = {
    "max_chain": "--max-chain",
    "memory_mb": "--memory-mb",
    "words": "--words",
    "min_word_count": "--min-word-count",
}
READING = tuple(
    Reading(f"--{name.replace('_', '-')}", name, name, ("treebank",))
    for name in ("max_length", "strip_empty", "strip_functions")
)


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
    group.add_argument(
        "--words", action="store_true", default=absent,
        help="a grammar over words, which predicts tags too. Default: over the tags of the data",
    )  # fmt: skip
    group.add_argument(
        "--min-word-count", type=whole, metavar="N", default=absent,
        help="with --words: words that come less often in training are known by their class (shape "
        "and suffix) alone. Default: 2",
    )  # fmt: skip


def add_reading(group: argparse._ArgumentGroup, labelled: bool) -> None:
    absent = argparse.SUPPRESS
    if labelled:  # a prediction is made for every sentence
        group.add_argument(
            "--max-length", type=whole, metavar="N", default=absent,
            help="trees: leave out sentences of more words, of --validation too. A model does not "
            "keep it: predict and evaluate take all sentences. Default: none is left out",
        )  # fmt: skip
    group.add_argument(
        "--strip-empty", action=argparse.BooleanOptionalAction, default=absent,
        help="trees: take out empty elements (-NONE-). Default: yes",
    )  # fmt: skip
    group.add_argument(
        "--strip-functions", action=argparse.BooleanOptionalAction, default=absent,
        help="trees: take function tags and indices off labels (NP-SBJ-1 → NP). Default: yes",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    if "min_word_count" in given and "words" not in given:
        raise ConfigError("--min-word-count is for grammars over words: give --words too")
    return task_class(**given)


OPTIONS = Options(LOSSES, ("losses", "loss_scale", "unfit"), FLAGS, add, READING, add_reading, make)
