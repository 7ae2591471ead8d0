"""The options of sequence tagging."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.parts import Options, Reading
from distsvm.cli.readers import Reader, of_type, whole
from distsvm.cli.small_files import read_text
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task

LOSSES = "hamming (default), the number of wrong tags; or zero-one, 1 if any is wrong"
FLAGS = {
    "order": "--order",
    "allowed": "--allowed",
    "min_count": "--min-count",
    "hash_bits": "--hash-bits",
}
_BOTH = ("conll", "conllu")
READING = (
    Reading("--tag", "tag", "tag", _BOTH),
    Reading("--word", "word", "word", ("conll",)),
    Reading("--templates", "templates", "templates", _BOTH),
    Reading("--hash-bits", "hash_bits", "hash_bits", _BOTH),
)


def _column(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _templates(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return read_text(text[1:])
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{text[1:]} cannot be read ({error})") from error


column = Reader(_column, "a whole number, or a name", of_type(int, str))
templates = Reader(_templates, "text", of_type(str))


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


def add_reading(group: argparse._ArgumentGroup, labelled: bool) -> None:
    absent = argparse.SUPPRESS
    group.add_argument(
        "--tag", type=column, metavar="COLUMN", default=absent,
        help="CoNLL: the column of the tag, from 0, or from the end if it is negative. Default: -1."
        " CoNLL-U: its name, such as upos. Default: xpos",
    )  # fmt: skip
    group.add_argument(
        "--word", type=whole, metavar="COLUMN", default=absent,
        help="CoNLL: the column of the word, from 0. Default: 0",
    )  # fmt: skip
    group.add_argument(
        "--templates", type=templates, metavar="TEXT", default=absent,
        help="CoNLL, CoNLL-U: the features of a token, such as 'word[-1..+1]; suffix(1..3)'; or "
        "default, or pos; or @FILE with one template a line (the language is described in "
        "distsvm/data/templates.py). Default: default",
    )  # fmt: skip


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    task: Any = task_class(**given)
    task.check_settings()
    if task.min_count > 1 and task.hash_bits is not None:
        raise ConfigError("--min-count needs a dictionary of features, --hash-bits makes none")
    return task


OPTIONS = Options(LOSSES, ("losses", "loss_scale", "unfit"), FLAGS, add, READING, add_reading, make)
