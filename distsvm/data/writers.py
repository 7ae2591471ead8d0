"""Writing tables as files that the readers give back exactly."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import numpy as np

from distsvm.data.features import DenseRows, Rows, SparseRows, as_rows
from distsvm.data.files import is_gzip
from distsvm.data.readers.tables import pyarrow
from distsvm.errors import ConfigError, DataError

ROWS_AT_A_TIME = 4096

SUFFIXES = {"svmlight": ".svm", "svmlight.gz": ".svm.gz", "parquet": ".parquet"}


def write_svmlight(
    path: str | os.PathLike[str], X: Any, y: Any = None, *, index_base: int = 1
) -> None:
    """Write rows as svmlight text (packed if the name ends in .gz) that reads back exactly.

    Parameters
    ----------
    path : path
    X : array of shape (n, d) or SciPy sparse matrix
        Zeros of a dense array are left out; stored zeros of a sparse one are written.
    y : array of n numbers, optional
        Zeros are written as labels without it.
    index_base : int
        The number of the first column in the file.
    """
    rows = as_rows(X)
    labels = np.zeros(rows.n_rows, dtype=np.int64) if y is None else np.asarray(y)
    if labels.shape != (rows.n_rows,):
        raise DataError(f"y has shape {labels.shape}, expected ({rows.n_rows},), one a row")
    if labels.dtype.kind not in "biuf":
        raise DataError(f"labels have dtype {labels.dtype}, expected numbers")
    if index_base < 0:
        raise ConfigError(f"index_base={index_base}: expected 0 or 1")
    path = os.fspath(path)
    with open(path, "wb") as file:
        # Without the time of writing, so that equal data gives equal files.
        out = cast(BinaryIO, gzip.GzipFile("", "wb", 6, file, mtime=0)) if is_gzip(path) else file
        for lines in _lines(rows, labels, index_base):
            out.write(lines.encode())
        if out is not file:
            out.close()


def _lines(rows: Rows, labels: np.ndarray, index_base: int) -> Iterator[str]:
    for start in range(0, rows.n_rows, ROWS_AT_A_TIME):
        stop = min(start + ROWS_AT_A_TIME, rows.n_rows)
        y = labels[start:stop]
        values, columns, ends = _entries(rows.rows(start, stop))
        for what, numbers in (("labels", y), ("values", values)):
            if not np.isfinite(numbers).all():
                raise DataError(f"{what} of rows {start} to {stop} are not finite")
        pairs = [
            f"{column}:{value!r}"
            for column, value in zip((columns + index_base).tolist(), _plain(values), strict=True)
        ]
        begin = 0
        text = []
        for label, end in zip(_plain(y), ends.tolist(), strict=True):
            text.append(" ".join([repr(label), *pairs[begin:end]]))
            begin = end
        yield "\n".join(text) + "\n"


def _entries(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values, columns and ends of each row's entries."""
    if isinstance(rows, SparseRows):
        values, columns, starts = rows.arrays()
        return values, columns.astype(np.int64), starts[1:]
    row, column = np.nonzero(rows.values)
    return rows.values[row, column], column, np.searchsorted(row, np.arange(1, rows.n_rows + 1))


def _plain(numbers: np.ndarray) -> list[Any]:
    """Python numbers, integers where all are whole: their repr is exact and as short as can be."""
    if numbers.dtype.kind != "f" or np.array_equal(numbers, np.trunc(numbers)):
        whole = np.abs(numbers.astype(np.float64)) < 2.0**53
        if whole.all() and not np.signbit(numbers[numbers == 0]).any():
            return numbers.astype(np.int64).tolist()
    return numbers.tolist()
