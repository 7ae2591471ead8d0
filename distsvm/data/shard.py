"""Shards: the examples one worker calls its own, and how to load them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from distsvm.data.features import Rows


@dataclass(frozen=True, eq=False)
class Shard:
    """The examples first … first + n − 1 of the data.

    Parameters
    ----------
    x : Rows, or a sequence of inputs
    y : array of labels, or a sequence of outputs; None where outputs are not known (prediction)
    weight : float64 array of shape (n,), or None for ones
    first : int
        The number of the shard's first example in the whole data; 0 in a shard from files, since
        nobody knows the earlier parts' lengths before all are read.
    source : str
        Where the examples came from, for messages ("memory", or files and the part of them).
    n_left_out : int
        Examples of the source that a filter of its reader dropped.
    """

    x: Rows | Sequence[Any]
    y: np.ndarray | Sequence[Any] | None
    weight: np.ndarray | None
    first: int = 0
    source: str = "memory"
    n_left_out: int = 0

    @property
    def n(self) -> int:
        return self.x.n_rows if hasattr(self.x, "n_rows") else len(self.x)

    def take(self, which: np.ndarray) -> Shard:
        """A copy of the examples with these numbers, in this order, as the first of some data."""
        weight = None if self.weight is None else self.weight[which]
        return Shard(_taken(self.x, which), _taken(self.y, which), weight, source=self.source)


def _taken(items: Any, which: np.ndarray) -> Any:
    if items is None:
        return None
    if hasattr(items, "take"):  # arrays have it, too
        return items.take(which)
    return [items[i] for i in which.tolist()]


def joined(shards: Sequence[Shard]) -> Shard:
    """A copy of the examples of shards in memory, as one shard."""
    weights = None
    if any(shard.weight is not None for shard in shards):
        weights = np.concatenate(
            [np.ones(shard.n) if shard.weight is None else shard.weight for shard in shards]
        )
    x, y = ([getattr(shard, name) for shard in shards] for name in ("x", "y"))
    return replace(shards[0], x=_joined(x), y=_joined(y), weight=weights)


def _joined(items: list[Any]) -> Any:
    if items[0] is None:
        return None
    if hasattr(items[0], "joined"):
        return items[0].joined(items[1:])
    if all(isinstance(each, np.ndarray) for each in items):
        return np.concatenate(items)
    return [one for each in items for one in each]


class ShardSpec(Protocol):
    """How to load one shard, again if need be; small (or shared) and picklable.

    One that reads files may have `parts`, those of files that it reads, `pieces(n_bytes)`, the same
    examples in specs of about so much memory each, and `in_arrays`, False where it gives Python
    objects. With `joined(others)`, one spec of its examples and those of the others behind them, in
    their order, shards can be put together to blocks. `seen_columns()` is the number of columns of
    its first rows, None where inputs are no rows of features.
    """

    def load(self) -> Shard: ...
