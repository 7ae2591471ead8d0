"""A task bound to one shard: what the three contracts of an oracle have in common."""

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
"""Of a piece, unless there are thousands of classes; see Bound.piece."""


def power_of_two(n: float) -> int:
    """The largest power of two that is not above n, and at least 1."""
    return 1 << max(0, int(n).bit_length() - 1)


class Bound(ABC):
    """The examples of one shard, with rows 0 … n − 1, as a task sees them.

    All arrays `rows` that methods take are int64 and read-only, with row numbers in any order.
    Methods that take a `view` read what `view(w)` made of one w. No method changes its arguments,
    unless it says so. Threads call `separate` of a compiled task's oracle at the same time with one
    view and different rows; else threads call one oracle one after another. What is said of an
    example does not depend on the others that it is asked with.
    """

    n: int
    dim: int
    """The length of w."""
    slack: bool
    """Whether p = q·ψ, as slack rescaling has it; for margin rescaling p = ψ."""
    q_is_loss: bool = True
    """Whether q is Δ, as it is for the linear penalty; then no array of Δ is stored beside q."""
    penalty: str = "linear"
    """What a slack costs, on which q depends; see `q_of`."""
    names: Names
    """What messages call the example of each row."""
    piece: int = 256
    """How many examples to ask about at a time, so that a piece stays in the processor's cache.

    A power of two: sums are made piece by piece, so a shard that is read from disk in parts of
    many pieces gives the same bits as one in memory.
    """
    extent: int = 0
    """What `piece_of` goes by, summed over all rows: bytes of features, or tokens."""
    ends_at: float = math.inf
    """When the time is over, in seconds since the epoch. From then on `separate` and `decode` may
    answer for the first of their rows only: a slow search ends within one call of it."""

    def penalise(self, penalty: str) -> None:
        """Ask for planes of this penalty from here on; before anything else is asked.

        Requires one of Task.penalties. A search overrides it that has to get ready for another q.
        """
        self.penalty = penalty
        self.q_is_loss = penalty == "linear" or (penalty == "hard" and not self.slack)

    def q_of(self, loss: np.ndarray) -> np.ndarray:
        """q of planes with these Δ: √Δ for the quadratic penalty, else Δ.

        With a hard margin and slack rescaling it is 1 wherever there is a loss.
        """
        if self.q_is_loss:
            return loss
        return np.sqrt(loss) if self.penalty == "quadratic" else (loss > 0).astype(np.float64)

    def planes_of(self, rows: np.ndarray, output: Any, loss: np.ndarray) -> Planes:
        """The planes of these outputs, which have these Δ."""
        return Planes(rows, output, self.q_of(loss), loss)

    def least_losses(self, rows: np.ndarray) -> np.ndarray | None:
        """The smallest Δ above 0 that an output of each of these examples may have, or less.

        None where it is not known; only a hard margin of Δ asks for it.
        """
        return None

    def view(self, w: np.ndarray) -> Any:
        """w in the form that the other methods take it, made once for a call over all pieces.

        Requires w of length `dim`, finite and read-only, which does not change while the view is
        used: it may share w's memory.
        """
        return w

    def w_of(self, view: Any) -> np.ndarray:
        """The w that a view was made of, for the default algebra, which reads w itself.

        Requires an override where `view` is not w and the default `values` is kept.
        """
        return view

    def truths(self, rows: np.ndarray) -> Any:
        """The true outputs of these examples, in the form of all outputs of this oracle.

        Requires examples with outputs; ensures a DataError where there are none.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no true outputs")

    def piece_of(self, mean_extent: float) -> int:
        """The piece of any shard of this task whose examples have this extent in the mean."""
        return self.piece

    def chunks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """The rows in their order, a piece at a time."""
        for start in range(0, rows.size, self.piece):
            yield rows[start : start + self.piece]

    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.time() >= self.ends_at

    def in_time(self, pieces: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """The pieces until the time is over."""
        for rows in pieces:
            if self.is_late():
                return
            yield rows
