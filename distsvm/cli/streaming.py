"""A function of each piece of some files, in order, on any executor, with its progress shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

import numpy as np

from distsvm.cli.formatting import clock, count, counted
from distsvm.cli.output import Output
from distsvm.cli.progress import COMPILING, bar
from distsvm.data.shard import ShardSpec
from distsvm.kernels.compiling import on_first_compile
from distsvm.model import Model
from distsvm.workers.shard_worker import ShardWorker

REDRAW_S = 0.1
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
    """function(worker, w) of each piece, in order; few pieces are in memory at a time.

    Parameters
    ----------
    function : a function of a module, so that it can be sent to processes
    pieces : those of model.pieces(data), or of model.sentence_pieces
    place : executor, n_workers and executor_options, as given_config gives them
    doing : str
        Shown on a terminal, with how many examples are done; nothing is shown without it.
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


class Done:
    """A line at the bottom of the terminal that says how many examples are done.

    Drawn by a thread of its own, so that time goes on during long pieces.
    """

    def __init__(self, output: Output, doing: str, n_pieces: int | None) -> None:
        self._output, self._doing, self._n_pieces = output, doing, n_pieces
        self._n_done = self._n_examples = 0
        self._began = time.perf_counter()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._redraw, name="distsvm-progress", daemon=True)

    def __enter__(self) -> Done:
        self._draw()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._output.screen.clear()

    def add(self, n_examples: int) -> None:
        """One more piece is done."""
        self._n_done += 1
        self._n_examples += n_examples

    def line(self, elapsed_s: float) -> str:
        """The line after so many seconds."""
        done = counted(self._n_examples, "example")
        if self._n_pieces is None:  # as much as comes
            return f"{self._doing}  {done}  {clock(elapsed_s)}"
        filled = bar(self._n_done / self._n_pieces, BAR, self._output.unicode)
        pieces = f"{count(self._n_done)} of {counted(self._n_pieces, 'piece')}"
        return f"{self._doing}  {filled}  {pieces}  {done}  {clock(elapsed_s)}"

    def _redraw(self) -> None:
        while not self._end.wait(REDRAW_S):
            self._draw()

    def _draw(self) -> None:
        self._output.screen.draw([self.line(time.perf_counter() - self._began)])
