"""Rows of different lengths in one flat array: label sequences, trees, the planes of both."""

from __future__ import annotations

from dataclasses import dataclass

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
        """The rows, one after another."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
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
        """The same rows in read-only arrays, as kernels take them."""
        return Ragged(frozen(self.values), frozen(self.starts))

    def row(self, i: int) -> np.ndarray:
        return self.values[self.starts[i] : self.starts[i + 1]]

    def __getitem__(self, which: np.ndarray) -> Ragged:
        """The rows with these numbers, in this order."""
        lengths = self.lengths[which]
        starts = offsets(lengths)
        return Ragged(self.values[spread(self.starts[:-1][which], lengths)], starts)

    def keys(self) -> np.ndarray:
        """An int64 for each row, the same for equal rows."""
        powers = _powers(int(self.lengths.max(initial=0)))
        place = spread(np.zeros(len(self), dtype=np.int64), self.lengths)
        terms = (self.values.astype(np.uint64) + np.uint64(1)) * powers[place]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
        return (sums[self.starts[1:]] - sums[self.starts[:-1]]).view(np.int64)


class RaggedSlots:
    """Room for `size` rows of every example, all rows of one example of one length.

    Slot number i·size + s is the s-th of example i: `values` from first[i] + s·length on.
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


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Where rows of these lengths start, one after another, and last where they end."""
    starts = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """starts[0], starts[0] + 1, …, lengths[0] numbers in all, then starts[1], … and so on."""
    ends = offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def _powers(n: int) -> np.ndarray:
    """The first n powers of an odd constant, modulo 2⁶⁴."""
    base = np.full(n, 0x9E3779B97F4A7C15, dtype=np.uint64)
    return np.cumprod(base, dtype=np.uint64)
