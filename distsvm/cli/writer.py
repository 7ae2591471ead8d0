"""What all writers of predictions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from distsvm.data.shard import ShardSpec
from distsvm.workers.shard_worker import ShardWorker


class Writer:
    """Predictions as text.

    Attributes
    ----------
    function : callable
        What to ask the workers: function(worker, w) for each piece of the data.
    head : str
        Stands before all predictions.
    on_screen : bool
        Whether standard output is the file, unless another is named.
    needs_file : bool
        Whether there must be a place to write the texts to; else there may be none.
    n_fallbacks : int
        How many of the predictions written so far stand in for one that could not be made.
    fallback : str
        What those are, for people.
    """

    function: Callable[..., Any] = staticmethod(ShardWorker.predict)
    head: str = ""
    on_screen: bool = False
    needs_file: bool = True
    n_fallbacks: int = 0
    fallback: str = ""

    def texts(self, piece: ShardSpec, found: Any) -> Iterator[str]:
        """The text of each example of the piece, newlines included."""
        raise NotImplementedError

    def finish(self) -> list[str]:
        """After the last example; returns the names of other files that were written."""
        return []
