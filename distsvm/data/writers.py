"""Write tables as files that the readers read back exactly."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from distsvm.data.features import DenseRows, Rows, SparseRows, as_rows
from distsvm.data.files import compression
from distsvm.data.readers.tables import pyarrow
from distsvm.errors import ConfigError, DataError

ROWS_AT_A_TIME = 4096

SUFFIXES = {"svmlight": ".svm", "svmlight.gz": ".svm.gz", "parquet": ".parquet"}


def write_svmlight(
    path: str | os.PathLike[str], X: Any, y: Any = None, *, index_base: int = 1
) -> None:
    """Write rows as svmlight text (compressed if the name ends in .gz) that reads back exactly.

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
    if index_base not in (0, 1):
        raise ConfigError("index_base", index_base, "0 or 1")
    with opened_for_writing(path) as out:
        for lines in _lines(rows, labels, index_base):
            out.write(lines.encode())


def write_parquet(
    path: str | os.PathLike[str], X: Any, y: Any = None, *, group_rows: int = 65536
) -> None:
    """Write rows as a Parquet file with the columns `features` and `label` (needs pyarrow).

    Features are fixed-size lists for an array X of shape (n, d), and structs of the lists
    `indices` (from 0) and `values` for a SciPy sparse matrix; labels are y, if it is given.
    """
    arrow = pyarrow()
    from pyarrow import parquet

    rows = as_rows(X)
    if isinstance(rows, DenseRows):
        features = arrow.FixedSizeListArray.from_arrays(rows.values.ravel(), rows.n_columns)
    else:
        values, indices, starts = rows.arrays()
        lists = [arrow.LargeListArray.from_arrays(starts, part) for part in (indices, values)]
        features = arrow.StructArray.from_arrays(lists, ["indices", "values"])
    columns = {"features": features}
    if y is not None:
        columns["label"] = arrow.array(np.asarray(y))
    parquet.write_table(arrow.table(columns), os.fspath(path), row_group_size=group_rows)


def write_parts(
    folder: str | os.PathLike[str], X: Any, y: Any, n_files: int, format: str = "svmlight"
) -> list[str]:
    """Write consecutive runs of rows as files of a folder, which is made; returns their paths.

    Parameters
    ----------
    folder : path
    X, y : rows and labels, as for write_svmlight
    n_files : int
    format : {"svmlight", "svmlight.gz", "parquet"}
    """
    if format not in SUFFIXES:
        raise ConfigError("format", format, f"one of {', '.join(SUFFIXES)}")
    n = len(y)
    if not 1 <= n_files <= n:
        raise ConfigError("n_files", n_files, f"1 to {n}, the number of rows")
    os.makedirs(folder, exist_ok=True)
    write = write_parquet if format == "parquet" else write_svmlight
    paths = []
    for i in range(n_files):
        start, stop = n * i // n_files, n * (i + 1) // n_files
        paths.append(os.path.join(folder, f"part-{i:05d}{SUFFIXES[format]}"))
        write(paths[-1], X[start:stop], y[start:stop])
    return paths


@contextmanager
def opened_for_writing(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open the file for writing, compressed if its name ends in .gz."""
    path = os.fspath(path)
    with ExitStack() as stack:
        out: Any = stack.enter_context(open(path, "wb"))
        if compression(path) == ".gz":
            # The time is fixed, so that equal data gives equal files.
            out = stack.enter_context(gzip.GzipFile("", "wb", 6, out, mtime=0))
        yield out


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
    """Return the values, columns and ends of each row's entries."""
    if isinstance(rows, SparseRows):
        values, columns, starts = rows.arrays()
        return values, columns.astype(np.int64), starts[1:]
    row, column = np.nonzero(rows.values)
    return rows.values[row, column], column, np.searchsorted(row, np.arange(1, rows.n_rows + 1))


def _plain(numbers: np.ndarray) -> list[Any]:
    """Return Python numbers, whose repr is exact; integers, which are shorter, if all are whole."""
    if numbers.dtype.kind == "f":
        whole = (np.abs(numbers) < 2.0**53) & (numbers == np.trunc(numbers))
    else:
        whole = np.array(numbers.dtype.kind == "b")
    return (numbers.astype(np.int64) if whole.all() else numbers).tolist()
