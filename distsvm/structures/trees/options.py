"""The options of parsing, and of its reader of treebanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.cli.parts import Options
from distsvm.errors import ConfigError
from distsvm.kinds import Truth, whole
from distsvm.options import declared, option
from distsvm.oracles.task import Task
from distsvm.structures.trees.task import ParseTask
from distsvm.wording import message


@dataclass
class TreebankOptions:
    """The options of TreebankData."""

    max_length: int = option(
        kind=whole(least=1), metavar="N", usual="none is left out",
        help="trees: leave out sentences of more words, of {validation} too. A model does not keep "
        "it: predict and evaluate take all sentences",
    )  # fmt: skip
    strip_empty: bool = option(
        kind=Truth(both=True), usual="yes",
        help="trees: remove empty elements (-NONE-)",
    )  # fmt: skip
    strip_functions: bool = option(
        kind=Truth(both=True), usual="yes",
        help="trees: remove function tags and indices of labels (NP-SBJ-1 → NP)",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    if "min_word_count" in given and "words" not in given:
        raise ConfigError(message("{min_word_count} is for grammars over words: give {words} too"))
    return task_class(**given)


OPTIONS = Options(declared(ParseTask), make=make)
