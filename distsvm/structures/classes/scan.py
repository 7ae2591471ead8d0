"""One scan of every value of a shard: its summary, refused unless the values are finite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from distsvm.data.features import DenseRows, SparseRows, check_real
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.messages import Summary, feature_name

PIECE = 1 << 18  # values at a time, to limit temporaries to a few MB

NO_COLUMN = int(np.iinfo(np.int64).max)
"""The least column of rows without entries: larger than any other."""


def summarise(shard: Shard, *, ranges: bool = True) -> Summary:
    """Return the summary of a shard, refused unless labels and features are finite.

    Parameters
    ----------
    shard : Shard
        Rows of features, or a sequence of inputs, of which only number and weight are known.
    ranges : bool
        Whether to find the largest |value| of each column.

    Returns
    -------
    Summary
        `least_column` is 0 for rows whose columns count from 0. For others it is the smallest
        column stored, or NO_COLUMN if there is none.
    """
    weight = float(shard.n if shard.weight is None else np.sum(shard.weight))
    x = shard.x
    if not isinstance(x, (DenseRows, SparseRows)):
        return Summary(shard.n, weight)
    labels, counts = (None, None) if shard.y is None else _labels(shard)
    check_real(x.values.dtype, shard.source)
    largest: np.ndarray | None
    if isinstance(x, DenseRows):
        least, largest = 0, _scan_dense(shard, x)
    else:
        largest = np.zeros(x.n_columns) if ranges else None
        least = _scan_sparse(shard, x, largest)
    return Summary(
        n_examples=shard.n,
        weight=weight,
        labels=labels,
        counts=counts,
        least_column=least,
        n_columns=x.n_columns,
        largest=largest if ranges else None,
        columns=shard.columns,
    )


def _labels(shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, and the weight of each one's examples."""
    y = np.asarray(shard.y)
    try:
        if shard.weight is None:
            labels, counts = np.unique(y, return_counts=True)
        else:
            labels, place = np.unique(y, return_inverse=True)
            counts = np.bincount(place, shard.weight, labels.size)
    except TypeError as error:
        raise DataError(f"{shard.source}: labels of different kinds ({error})") from error
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{shard.names[row]}: the label is {y[row]}, expected a finite number")
    return labels, counts.astype(np.float64)


def _scan_dense(shard: Shard, x: DenseRows) -> np.ndarray:
    """Return max_i |x_ij| of each column."""
    largest = np.zeros(x.n_columns)
    for start, stop in _pieces(0, x.n_rows, max(1, PIECE // max(1, x.n_columns))):
        piece = x.values[start:stop]
        # Not max |x|: the absolute value of the least integer overflows.
        above, below = piece.max(axis=0), piece.min(axis=0)
        ends = np.maximum(above.astype(np.float64), -below.astype(np.float64))
        if not np.isfinite(ends).all():
            row, column = np.argwhere(~np.isfinite(piece))[0]
            raise _not_finite(shard, start + row, column, piece[row, column])
        np.maximum(largest, ends, out=largest)
    return largest


def _scan_sparse(shard: Shard, x: SparseRows, largest: np.ndarray | None) -> int:
    """Return the least column, and set `largest` to max_i |x_ij| of each column."""
    least = NO_COLUMN
    for start, stop in _pieces(int(x.starts[0]), int(x.starts[-1]), PIECE):
        values = x.values[start:stop].astype(np.float64, copy=False)
        columns = x.columns[start:stop]
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            row = np.searchsorted(x.starts, start + bad[0], side="right") - 1
            raise _not_finite(shard, row, columns[bad[0]], values[bad[0]])
        least = min(least, int(columns.min()))
        if largest is not None:
            np.maximum.at(largest, columns, np.abs(values))
    return 0 if x.zero_based else least


def _pieces(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def _not_finite(shard: Shard, row: Any, column: Any, value: Any) -> DataError:
    feature = feature_name(shard.columns, int(column))
    return DataError(f"{shard.names[int(row)]}: {feature} is {value}, expected a finite number")
