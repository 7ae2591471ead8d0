"""Results of a function of each piece of a data set, in order, on any executor, with progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

import numpy as np

from distsvm.cli.formatting import clock, count, counted
from distsvm.cli.output import Output, Redrawn
from distsvm.cli.progress import COMPILING, bar
from distsvm.data.shard import ShardSpec
from distsvm.kernels.compiling import on_first_compile
from distsvm.model import Model
from distsvm.workers.shard_worker import ShardWorker

BAR = 24


def over_pieces(
    function: Callable[..., Any],
    model: Model,
    pieces: Iterable[ShardSpec],
    place: dict[str, Any],
    output: Output,
    *,
    doing: str = "",
) -> Iterator[Any]:
    """Yield function(worker, w) of each piece, in order; few pieces are in memory at a time.

    Parameters
    ----------
    function : a function of a module, because it is sent to processes
    pieces : from model.pieces(data) or model.sentence_pieces
    place : executor, n_workers and executor_options, as given_place returns them
    doing : str
        Shown on a terminal, with the number of examples done. Without it nothing is shown.
    """
    n_pieces = len(pieces) if isinstance(pieces, Sequence) else None
    shown = Done(output, doing, n_pieces) if doing and output.live else None
    with on_first_compile(lambda: output.note(COMPILING)), shown or nullcontext():
        results = model.over_pieces(partial(_counted, function), pieces, **place)
        with closing(results):  # type: ignore[type-var]
            for n_examples, result in results:
                if shown is not None:
                    shown.add(n_examples)
                yield result


def _counted(function: Callable[..., Any], worker: ShardWorker, w: np.ndarray) -> tuple[int, Any]:
    return worker.oracle.n, function(worker, w)


class Done(Redrawn):
    """A line at the bottom of the terminal with the number of examples done."""

    def __init__(self, output: Output, doing: str, n_pieces: int | None) -> None:
        self.output, self._doing, self._n_pieces = output, doing, n_pieces
        self._n_done = self._n_examples = 0
        self._began = time.perf_counter()

    def add(self, n_examples: int) -> None:
        """Count one more piece."""
        self._n_done += 1
        self._n_examples += n_examples

    def lines(self) -> list[str]:
        return [self.line(time.perf_counter() - self._began)]

    def line(self, elapsed_s: float) -> str:
        """Return the line after this many seconds."""
        done = counted(self._n_examples, "example")
        if self._n_pieces is None:  # standard input: the number of pieces is unknown
            return f"{self._doing}  {done}  {clock(elapsed_s)}"
        filled = bar(self._n_done / self._n_pieces, BAR, self.output.unicode)
        pieces = f"{count(self._n_done)} of {counted(self._n_pieces, 'piece')}"
        return f"{self._doing}  {filled}  {pieces}  {done}  {clock(elapsed_s)}"
