"""The k best predictions of each example, with their scores: structures that can rank outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.signs import field
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.kinds import whole

N_BEST = {"n_best": "--n-best"}


def add_n_best(group: Group) -> None:
    """Add the flag."""
    group.flag(
        "--n-best", whole(least=1), metavar="K", default=ABSENT,
        help="sequences and trees: write the K best outputs of each example, best first, one a "
        "line: the score ⟨w, Ψ(x, ŷ)⟩, tab, the output; with a blank line after each example",
    )  # fmt: skip


class Best(Writer):
    """The k best outputs of each example with their scores.

    Parameters
    ----------
    ranked : function(worker, w, k) that returns (output, score) pairs of each example, best first
    text : function of an output that returns its line
    """

    def __init__(self, k: int, ranked: Callable[..., Any], text: Callable[[Any], str]) -> None:
        self.function, self._text = partial(ranked, k=k), text

    def texts(self, piece: ShardSpec, found: list[list[tuple[Any, float]]]) -> Iterator[str]:
        for ranked in found:
            lines = [f"{score!r}\t{field(self._text(output))}\n" for output, score in ranked]
            yield "".join(lines) + "\n"
