"""A task bound to one shard: the common base of an oracle's three contracts."""

from __future__ import annotations

import math
import time
from abc import ABC
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from distsvm.data.shard import Names
from distsvm.messages import Planes

MOST_ROWS, MOST_SEQUENCES = 1 << 13, 1 << 10
"""Sizes of a piece, unless there are thousands of classes; see Bound.piece."""


def power_of_two(n: float) -> int:
    """Return the largest power of two ≤ n, but at least 1."""
    return 1 << max(0, int(n).bit_length() - 1)


class Bound(ABC):
    """The examples of one shard, with rows 0 … n − 1, in the form of one task.

    All arguments `rows` are int64 arrays, read-only, with row numbers in any order. An argument
    `view` is the result of `view(w)` for one w. No method changes its arguments, unless its
    docstring says so. Several threads may call `separate` of a compiled task's oracle at the same
    time, with one view and different rows; all other calls are one after another. The result for an
    example does not depend on the other rows of a call.
    """

    n: int
    dim: int
    """The length of w."""
    slack: bool
    """Whether p = q·ψ (slack rescaling); for margin rescaling p = ψ."""
    q_is_loss: bool = True
    """Whether q = Δ, as for the linear penalty; then no array of Δ is stored beside q."""
    penalty: str = "linear"
    """The penalty of a slack; q depends on it, see `q_of`."""
    names: Names
    """What messages call the example of each row."""
    piece: int = 256
    """Examples per oracle call, such that they stay in the processor's cache.

    A power of two: sums are made piece by piece, so a shard that is read from disk in parts of
    many pieces gives the same bits as one in memory.
    """
    extent: int = 0
    """The size of all rows for `piece_of`: bytes of features, or tokens."""
    ends_at: float = math.inf
    """The end of the time limit, in seconds since the epoch. After it `separate` and `decode` may
    return results for the first rows only, so that a slow search ends after one more example."""

    def penalise(self, penalty: str) -> None:
        """Set the penalty of all later planes; call it before any search.

        Requires one of Task.penalties. A search that prepares anything for another q overrides it.
        """
        self.penalty = penalty
        self.q_is_loss = penalty == "linear" or (penalty == "hard" and not self.slack)

    def q_of(self, loss: np.ndarray) -> np.ndarray:
        """Return q of planes with these Δ: √Δ for the quadratic penalty, else Δ.

        With a hard margin and slack rescaling it is 1 wherever there is a loss.
        """
        if self.q_is_loss:
            return loss
        return np.sqrt(loss) if self.penalty == "quadratic" else (loss > 0).astype(np.float64)

    def planes_of(self, rows: np.ndarray, output: Any, loss: np.ndarray) -> Planes:
        """Return the planes of these outputs with these Δ."""
        return Planes(rows, output, self.q_of(loss), loss)

    def least_losses(self, rows: np.ndarray) -> np.ndarray | None:
        """Return a positive lower bound of each example's Δ > 0; None if it is unknown.

        Only the hard margin with margin rescaling needs it.
        """
        return None

    def view(self, w: np.ndarray) -> Any:
        """Return w in the form that the other methods take; one view serves all pieces.

        Requires w of length `dim`, finite and read-only, which does not change while the view is
        used: it may share w's memory.
        """
        return w

    def w_of(self, view: Any) -> np.ndarray:
        """Return the w of a view, for the default algebra, which reads w itself.

        Requires an override where `view` is not w and the default `values` is kept.
        """
        return view

    def truths(self, rows: np.ndarray) -> Any:
        """Return the true outputs of these examples, in the form of all outputs of this oracle.

        Raises DataError if the examples have no true outputs.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no true outputs")

    def piece_of(self, mean_extent: float) -> int:
        """Return the piece of a shard of this task with this mean extent of an example."""
        return self.piece

    def chunks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the rows in their order, a piece at a time."""
        for start in range(0, rows.size, self.piece):
            yield rows[start : start + self.piece]

    def is_late(self) -> bool:
        """Return whether the time limit has passed."""
        return time.time() >= self.ends_at

    def in_time(self, pieces: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield pieces until the time limit."""
        for rows in pieces:
            if self.is_late():
                return
            yield rows
