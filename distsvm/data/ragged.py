"""Rows of different lengths in one flat array, such as label sequences and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.features import frozen


@dataclass(frozen=True, eq=False)
class Ragged:
    """m rows of numbers: row i is values[starts[i] : starts[i + 1]].

    Parameters
    ----------
    values : array of shape (total,)
    starts : int64 array of shape (m + 1,), from 0 to total
    """

    values: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, rows: list[np.ndarray] | list[list[int]], dtype: type | np.dtype) -> Ragged:
        """Return these rows, one after another."""
        starts = offsets(np.array([len(row) for row in rows], dtype=np.int64))
        values = np.concatenate([np.zeros(0, dtype), *(np.asarray(row, dtype) for row in rows)])
        return cls(values, starts)

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.starts.nbytes

    def frozen(self) -> Ragged:
        """Return the same rows in read-only arrays, as kernels take them."""
        return Ragged(frozen(self.values), frozen(self.starts))

    def row(self, i: int) -> np.ndarray:
        return self.values[self.starts[i] : self.starts[i + 1]]

    def __getitem__(self, which: np.ndarray) -> Ragged:
        """Return the rows with these numbers, in this order."""
        lengths = self.lengths[which]
        return Ragged(self.values[spread(self.starts[:-1][which], lengths)], offsets(lengths))

    def keys(self) -> np.ndarray:
        """Return an int64 for each row; equal rows have equal keys."""
        powers = _powers(int(self.lengths.max(initial=0)))
        place = spread(np.zeros(len(self), dtype=np.int64), self.lengths)
        terms = (self.values.astype(np.uint64) + np.uint64(1)) * powers[place]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
        return (sums[self.starts[1:]] - sums[self.starts[:-1]]).view(np.int64)


class RaggedSlots:
    """Space for `size` rows of every example; all rows of an example have the same length.

    Slot i·size + s is the s-th of example i: its values start at first[i] + s·length.
    """

    def __init__(self, lengths: np.ndarray, size: int, dtype: type | np.dtype) -> None:
        self._lengths, self._size = lengths, size
        self.first = offsets(lengths * size)
        self.values = np.zeros(int(self.first[-1]), dtype=dtype)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def __getitem__(self, slots: np.ndarray) -> Ragged:
        place, lengths = self._place(slots)
        return Ragged(self.values[place], offsets(lengths))

    def __setitem__(self, slots: np.ndarray, rows: Ragged) -> None:
        self.values[self._place(slots)[0]] = rows.values

    def _place(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        example, slot = np.divmod(slots, self._size)
        lengths = self._lengths[example]
        return spread(self.first[example] + slot * lengths, lengths), lengths


def joined(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts, arrays or all of them Ragged, one after another."""
    if not isinstance(parts[0], Ragged):
        return np.concatenate(parts)
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(np.concatenate([part.values for part in parts]), offsets(lengths))


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Return the start of each row of these lengths, one after another, and the last one's end."""
    starts = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return starts[i], starts[i] + 1, …, lengths[i] numbers for each i, in one array."""
    ends = offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def _powers(n: int) -> np.ndarray:
    """Return the first n powers of an odd constant, modulo 2⁶⁴."""
    base = np.full(n, 0x9E3779B97F4A7C15, dtype=np.uint64)
    return np.cumprod(base, dtype=np.uint64)
