"""A random sample of distinct rows, the same however the data is cut, read and executed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.data.ragged import offsets
from distsvm.errors import ConfigError
from distsvm.kernel_functions.function import dense
from distsvm.wording import Setting, message

MEDIAN_ROWS = 1000
"""Rows of which all distances are computed for a median."""
PIECE_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Seen:
    """The rows of a shard, or of all: moments of their values, and a sample of distinct rows.

    Every row has a key, a pseudorandom number made from the seed and its values. The sample is of
    the rows with the lowest keys, so it depends only on the set of rows and the seed: not on
    shards, their order, executors, or whether rows are dense or sparse.

    Parameters
    ----------
    n_rows, n_columns : int
    mean, variance : float
        Of all values, as X.mean() and X.var() have them.
    limit : int
        The most rows in the sample.
    rows : Rows
        The sample, in the order of its keys.
    numbers : int64 array
        The places of the sampled rows in the data, or −1 where it is read in parts.
    keys : uint64 array
        Increasing.
    labels : array, or None
        Of the sampled rows, where they were given.
    """

    n_rows: int
    n_columns: int
    mean: float
    variance: float
    limit: int
    rows: Rows
    numbers: np.ndarray
    keys: np.ndarray
    labels: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        rows: Rows,
        limit: int,
        seed: int,
        first: int | None = 0,
        labels: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        keyed: Rows | None = None,
        kept: Any = None,
    ) -> Seen:
        """Return what is seen of these rows, which begin at number `first` of the data.

        Rows of weight 0 count as if they were not there. Keys are made of `keyed`, where rows of
        other shards have other columns, and the sample is taken of `kept`; both are the rows
        themselves unless they are given.
        """
        keys = row_keys(rows if keyed is None else keyed, seed)
        order = np.argsort(keys, kind="stable")
        counted = rows
        if weight is not None and not weight.all():
            order = order[weight[order] > 0]
            counted = rows.take(np.flatnonzero(weight))
        keys = keys[order]
        fresh = np.concatenate([[True], keys[1:] != keys[:-1]])[: keys.size]
        places = order[fresh][:limit]
        numbers = np.full(places.size, -1) if first is None else places + first
        mean, variance = _moments(counted)
        return cls(
            counted.n_rows, rows.n_columns, mean, variance, limit,
            (rows if kept is None else kept).take(places), numbers, keys[fresh][:limit],
            None if labels is None else labels[places],
        )  # fmt: skip

    def __add__(self, other: Seen) -> Seen:
        pair = [self, other]
        n_columns = max(part.n_columns for part in pair)
        keys = np.concatenate([part.keys for part in pair])
        keys, places = np.unique(keys, return_index=True)
        places = places[: self.limit]
        rows = _widened(self.rows, n_columns).joined([_widened(other.rows, n_columns)])
        numbers = np.concatenate([part.numbers for part in pair])
        labels = None
        if self.labels is not None and other.labels is not None:
            labels = np.concatenate([self.labels, other.labels])[places]
        counts = np.array([part.n_rows * part.n_columns for part in pair], dtype=np.float64)
        # Values that a narrower part does not store are zeros.
        share = counts / (max(1, sum(part.n_rows for part in pair)) * max(1, n_columns))
        mean = float(share @ [part.mean for part in pair])
        square = float(share @ [part.variance + part.mean**2 for part in pair])
        if n_columns == self.n_columns == other.n_columns:
            apart = self.mean - other.mean
            variance = float(share @ [part.variance for part in pair])
            variance += float(share[0] * share[1]) * apart**2
        else:
            variance = square - mean**2
        return replace(
            self, n_rows=self.n_rows + other.n_rows, n_columns=n_columns, mean=mean,
            variance=variance, rows=rows.take(places), numbers=numbers[places],
            keys=keys[: self.limit], labels=labels,
        )  # fmt: skip

    def without(self, n_columns: int) -> Seen:
        """Return the same where this number of columns of zeros do not count."""
        kept = self.n_columns - n_columns
        share = self.n_columns / max(1, kept)
        mean = share * self.mean
        variance = share * (self.variance + self.mean**2) - mean**2
        return replace(self, n_columns=kept, mean=mean, variance=variance)

    def over(self, rows: Rows, n_columns: int) -> Seen:
        """Return the same with the sample in this number of columns, of which it has all values."""
        return replace(self.without(self.n_columns - n_columns), rows=rows)

    def shifted(self, base: int) -> Seen:
        """Return the same of columns that count from `base`, and no other columns before it."""
        if not base:
            return self
        assert not isinstance(self.rows, DenseRows)
        values, columns, starts = self.rows.arrays()
        n_columns = self.n_columns - base
        rows = replace(
            self.rows, values=values, columns=columns - base, starts=starts, n_columns=n_columns,
            zero_based=True,
        )  # fmt: skip
        return self.over(rows, n_columns)

    def check_varies(self, setting: Setting) -> None:
        """Refuse rows that are all equal: no function of their distances can tell them apart."""
        if self.n_rows > 1 and self.keys.size == 1:
            raise ConfigError(
                message("{}: all features are constant, so all training rows are equal", setting)
            )

    def median_distance(self, metric: str) -> float:
        """Return the median distance of two different sampled rows."""
        from scipy.spatial.distance import pdist  # here, as workers without it stay small

        few = self.rows.rows(0, min(MEDIAN_ROWS, self.keys.size))
        return float(np.median(pdist(dense(few), metric))) if few.n_rows > 1 else 0.0


def _widened(rows: Any, n_columns: int) -> Any:
    return replace(rows, n_columns=n_columns) if isinstance(rows, SparseRows) else rows


def _moments(rows: Rows) -> tuple[float, float]:
    """Return mean and variance of all values, those that sparse rows do not store included."""
    n = rows.n_rows * rows.n_columns
    values = rows.arrays()[0]
    if not n or not values.size:
        return 0.0, 0.0
    mean = float(np.mean(values, dtype=np.float64)) * values.size / n
    square = 0.0
    flat = values.reshape(-1)
    for start in range(0, flat.size, 1 << 18):
        apart = flat[start : start + (1 << 18)].astype(np.float64) - mean
        square += float(apart @ apart)
    return mean, (square + (n - values.size) * mean**2) / n


def row_keys(rows: Rows, seed: int) -> np.ndarray:
    """Return a pseudorandom uint64 for each row; equal rows of numbers have equal keys."""
    keys = np.empty(rows.n_rows, np.uint64)
    for start in range(0, rows.n_rows, PIECE_ROWS):
        piece = rows.rows(start, min(start + PIECE_ROWS, rows.n_rows))
        keys[start : start + piece.n_rows] = _keys(piece, seed)
    return keys


def _keys(rows: Rows, seed: int) -> np.ndarray:
    start = np.array(seed % (1 << 64), np.uint64)
    if isinstance(rows, DenseRows):
        values = rows.values
        place = np.broadcast_to(np.arange(rows.n_columns), values.shape)
    else:
        values, place, starts = rows.arrays()
    # Zeros count nothing, so that rows have the same keys as dense and as sparse ones.
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    mixed = np.where(
        bits == 0, np.uint64(0), _mixed(bits ^ _mixed(place.astype(np.uint64) + start))
    )
    if isinstance(rows, DenseRows):
        return _mixed(mixed.sum(axis=1, dtype=np.uint64) ^ _mixed(start))
    places = offsets(np.diff(starts))
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _mixed((running[places[1:]] - running[places[:-1]]) ^ _mixed(start))


def _mixed(x: np.ndarray) -> np.ndarray:
    """Return splitmix64's finaliser: every bit of the result depends on every bit of x."""
    with np.errstate(over="ignore"):
        x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
