"""Shards: the examples that one worker owns, and how to load them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.errors import DistSVMError, renamed

Locate: TypeAlias = "Callable[[int], str | None]"
"""Maps the number of an example in its shard to its file and line or row; None if not known."""


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a shard's examples in messages: `FILE, line 7 (example 3)`, or `example 3`.

    Parameters
    ----------
    rows : range or array
        The number of each example in the shard as it was loaded.
    first : int, optional
        The number of the shard's first example in the whole data.
    locate : Locate, optional
    """

    rows: range | np.ndarray
    first: int | None = None
    locate: Locate | None = None

    def __getitem__(self, row: int) -> str:
        row = int(self.rows[row])
        place = None
        if self.locate is not None:
            # The message is worth showing even if the file is gone by now.
            with suppress(Exception):
                place = self.locate(row)
        number = f"example {row + (self.first or 0)}"
        if place is None:
            return number
        return place if self.first is None else f"{place} ({number})"

    def take(self, which: range | np.ndarray) -> Names:
        """Return the names of the examples with these numbers."""
        return replace(self, rows=np.asarray(self.rows)[np.asarray(which)])

    def call(self, row: int, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function about one example; its errors begin with the example's name."""
        try:
            return function(*args)
        except DistSVMError as error:
            raise renamed(error, self[row]) from error.__cause__ or error


@dataclass(frozen=True, eq=False)
class Shard:
    """The examples first … first + n − 1 of the data.

    Parameters
    ----------
    x : Rows, or a sequence of inputs
    y : array of labels, or a sequence of outputs; None where outputs are not known (prediction)
    weight : float64 array of shape (n,), or None for ones
    first : int, optional
        The number of the shard's first example in the whole data; None in a shard from files,
        because only reading tells the number of examples before it.
    source : str
        "memory", or the files and byte ranges, for messages.
    n_left_out : int
        Examples of the source that a filter of its reader dropped.
    locate : Locate, optional
        File and line of each example, for messages; see Names.
    columns : tuple of str, optional
        The names of the columns of features, for messages.
    """

    x: Rows | Sequence[Any]
    y: np.ndarray | Sequence[Any] | None
    weight: np.ndarray | None
    first: int | None = None
    source: str = "memory"
    n_left_out: int = 0
    locate: Locate | None = None
    columns: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        return self.x.n_rows if hasattr(self.x, "n_rows") else len(self.x)

    @property
    def names(self) -> Names:
        """The names of the examples in messages."""
        return Names(range(self.n), self.first, self.locate)

    def slice(self, rows: range) -> Shard:
        """Return the examples with these numbers, in the same memory where inputs allow it."""
        x, y, weight = (_sliced(items, rows) for items in (self.x, self.y, self.weight))
        first = None if self.first is None else self.first + rows.start
        locate = None if self.locate is None else partial(_locate_taken, self.locate, rows)
        return replace(self, x=x, y=y, weight=weight, first=first, locate=locate)

    def take(self, which: np.ndarray) -> Shard:
        """Return a copy of the examples with these numbers, in this order."""
        weight = None if self.weight is None else self.weight[which]
        locate = None if self.locate is None else partial(_locate_taken, self.locate, which)
        x, y = _taken(self.x, which), _taken(self.y, which)
        return Shard(x, y, weight, source=self.source, locate=locate, columns=self.columns)


def _sliced(items: Any, rows: range) -> Any:
    if isinstance(items, (DenseRows, SparseRows)):
        return items.rows(rows.start, rows.stop)
    if hasattr(items, "to_arrays"):  # the arrays of a structure
        return items.take(np.arange(rows.start, rows.stop))
    return None if items is None else items[rows.start : rows.stop]


def _taken(items: Any, which: np.ndarray) -> Any:
    if items is None:
        return None
    if hasattr(items, "take"):  # arrays too
        return items.take(which)
    return [items[i] for i in which.tolist()]


def _locate_taken(locate: Locate, which: range | np.ndarray, row: int) -> str | None:
    return locate(int(which[row]))


def joined(shards: Sequence[Shard]) -> Shard:
    """Return a copy of the examples of shards in memory, as one shard."""
    weights = None
    if any(shard.weight is not None for shard in shards):
        weights = np.concatenate(
            [np.ones(shard.n) if shard.weight is None else shard.weight for shard in shards]
        )
    x, y = ([getattr(shard, name) for shard in shards] for name in ("x", "y"))
    locate = partial(_locate_joined, [(shard.n, shard.locate) for shard in shards])
    return replace(shards[0], x=_joined(x), y=_joined(y), weight=weights, locate=locate)


def _locate_joined(parts: Sequence[tuple[int, Locate | None]], row: int) -> str | None:
    for n, locate in parts:
        if row < n:
            return None if locate is None else locate(row)
        row -= n
    return None


def _joined(items: list[Any]) -> Any:
    if items[0] is None:
        return None
    if hasattr(items[0], "joined"):
        return items[0].joined(items[1:])
    if all(isinstance(each, np.ndarray) for each in items):
        return np.concatenate(items)
    return [one for each in items for one in each]


class ShardSpec(Protocol):
    """How to load one shard, more than once if need be; small (or shared) and picklable.

    These members are optional. `parts` are the parts of files that it reads. `pieces(n_bytes)`
    returns specs of the same examples, of about n_bytes of memory each. `in_arrays` is False where
    it loads Python objects. `joined(others)` returns one spec of its examples and then those of the
    others, so that shards can make blocks. `locate` is a Locate of its examples. `seen_columns()`
    returns the number of columns of its first rows, None where inputs are no rows of features.
    """

    def load(self) -> Shard: ...
