"""The base of all writers of predictions."""

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
        function(worker, w) predicts one piece of the data.
    head : str
        Text before all predictions.
    on_screen : bool
        Whether standard output is the default of --output.
    needs_file : bool
        Whether --output is required.
    n_fallbacks : int
        Number of predictions so far that replace one that could not be made.
    fallback : str
        Their name in messages.
    """

    function: Callable[..., Any] = staticmethod(ShardWorker.predict)
    head: str = ""
    on_screen: bool = False
    needs_file: bool = True
    n_fallbacks: int = 0
    fallback: str = ""

    def texts(self, piece: ShardSpec, found: Any) -> Iterator[str]:
        """Yield the text of each example of the piece, newlines included."""
        raise NotImplementedError

    def finish(self) -> list[str]:
        """Return the names of other files that were written, after the last example."""
        return []
