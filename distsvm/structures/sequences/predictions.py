"""Predicted tags: a sentence a line, a token a line, or the best few of each sentence."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from distsvm.cli.n_best import N_BEST, Best, add_n_best
from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Predictions
from distsvm.cli.signs import field
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.errors import ConfigError
from distsvm.kinds import truth
from distsvm.model import Model
from distsvm.structures.sequences.answers import best_tags

FLAGS = {"columns": "--columns", **N_BEST}


def add(group: Group) -> None:
    group.flag(
        "--columns", truth, default=ABSENT,
        help="sequences in CoNLL, CoNLL-U or plain text: write one token a line, word, tab and "
        "tag, with a blank line after each sentence",
    )  # fmt: skip


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    if hasattr(args, "n_best"):
        if hasattr(args, "columns"):
            raise ConfigError("--columns and --n-best are both given; give one of them")
        return Best(args.n_best, best_tags, " ".join)
    return Columns() if hasattr(args, "columns") else Lines()


class Lines(Writer):
    """One sentence a line, its tags with blanks between them."""

    def texts(self, piece: ShardSpec, found: list[list[str]]) -> Iterator[str]:
        return (f"{_line(tags)}\n" for tags in found)


class Columns(Writer):
    """One token a line, as CoNLL files have them."""

    def texts(self, piece: ShardSpec, found: list[list[str]]) -> Iterator[str]:
        if not hasattr(piece, "words"):
            raise ConfigError("--columns needs CoNLL, CoNLL-U or plain text: others hold no words")
        for words, tags in zip(piece.words(), found, strict=True):
            rows = zip(map(field, words), map(field, tags), strict=True)
            yield "".join(f"{w}\t{t}\n" for w, t in rows) + "\n"


def _line(tags: list[str]) -> str:
    return field(" ".join(tags))


PREDICTIONS = Predictions("the tags, with blanks between them", writer, FLAGS, (add, add_n_best))
