"""Rows of features: dense, or sparse by rows; a slice is a view, never a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from distsvm import checks
from distsvm.errors import DataError


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a read-only, C-contiguous view (or copy, if it is not contiguous) of an array.

    Kernels are compiled for each kind of array. Frozen inputs are of one kind, and a kernel that
    writes into one raises an error at once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Features as an array of shape (n, n_columns), of any real dtype."""

    values: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def costs(self) -> np.ndarray:
        """Return the oracle work of each row: its number of stored values."""
        return np.full(self.n_rows, float(max(1, self.n_columns)))

    def rows(self, start: int, stop: int) -> DenseRows:
        return DenseRows(self.values[start:stop])

    def joined(self, others: Sequence[DenseRows]) -> DenseRows:
        """Return a copy of these rows and of the others behind them."""
        return DenseRows(np.concatenate([self.values, *(other.values for other in others)]))

    def take(self, which: np.ndarray) -> DenseRows:
        """Return a copy of the rows with these numbers."""
        return DenseRows(self.values[which])

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (self.values,)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the rows as named arrays and notes; see distsvm.data.shard_arrays."""
        return {"dense": self.values}, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> DenseRows:
        """Return the rows from the result of to_arrays."""
        return cls(arrays["dense"])


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Features by rows (CSR): row i holds entries starts[i] … starts[i + 1] − 1.

    `starts` may begin above 0: a slice of rows shares `values` and `columns` with the whole.
    `zero_based` means that columns count from 0. It is False where that is unknown (text files
    count from 0 or from 1 without a mark); then `n_columns` is 1 + the largest column.
    """

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    n_columns: int
    zero_based: bool = True

    @property
    def n_rows(self) -> int:
        return self.starts.size - 1

    @property
    def nbytes(self) -> int:
        nnz = int(self.starts[-1] - self.starts[0])
        return nnz * (self.values.itemsize + self.columns.itemsize) + self.starts.nbytes

    def costs(self) -> np.ndarray:
        """Return the oracle work of each row: its number of stored values."""
        return np.maximum(1.0, np.diff(self.starts))

    def rows(self, start: int, stop: int) -> SparseRows:
        return replace(self, starts=self.starts[start : stop + 1])

    def joined(self, others: Sequence[SparseRows]) -> SparseRows:
        """Return a copy of these rows and of the others behind them."""
        parts = [rows.arrays() for rows in (self, *others)]
        values, columns = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        lengths = np.concatenate([np.diff(part[2]) for part in parts])
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(self.starts.dtype)
        n_columns = max(rows.n_columns for rows in (self, *others))
        return replace(self, values=values, columns=columns, starts=starts, n_columns=n_columns)

    def take(self, which: np.ndarray) -> SparseRows:
        """Return a copy of the rows with these numbers."""
        whole = sparse.csr_matrix(self.arrays(), shape=(self.n_rows, self.n_columns))
        some = whole[which]
        return replace(self, values=some.data, columns=some.indices, starts=some.indptr)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return this slice's part of the arrays, with starts from 0."""
        first, last = int(self.starts[0]), int(self.starts[-1])
        return (self.values[first:last], self.columns[first:last], self.starts - first)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the rows as named arrays and notes; see distsvm.data.shard_arrays."""
        arrays = dict(zip(("values", "columns", "starts"), self.arrays(), strict=True))
        return arrays, {"n_columns": self.n_columns, "zero_based": self.zero_based}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> SparseRows:
        """Return the rows from the result of to_arrays; indices out of range raise a ValueError."""
        entries = arrays["values"], arrays["columns"], arrays["starts"]
        checks.whole("n_columns", notes["n_columns"])
        checks.within("columns", entries[1], 0, notes["n_columns"], entries[0].size)
        checks.starts("starts", entries[2], entries[1].size)
        return cls(*entries, notes["n_columns"], notes["zero_based"])

    def alone(self) -> SparseRows:
        """Return the same rows in arrays without other rows, to be sent."""
        values, columns, starts = self.arrays()
        return replace(self, values=values, columns=columns, starts=starts)


Rows: TypeAlias = "DenseRows | SparseRows"


def as_rows(X: Any, *, ordered: bool = True) -> Rows:
    """Return a NumPy array or SciPy sparse matrix as rows, without a copy where the form allows it.

    float32 stays float32 and integers stay integers; sums over them are float64. Types of numbers
    that compiled code does not support (float16, long double, foreign byte order) become the
    nearest one that it supports. X never changes. Where rows need not be `ordered`, their columns
    are in the order of X, and a column may be there twice: scores are sums over them.
    """
    if sparse.issparse(X):
        csr = X.tocsr()
        _check_shape(csr.shape)
        if ordered and not csr.has_canonical_format:
            csr = csr.copy() if csr is X else csr
            csr.sum_duplicates()
        return SparseRows(
            np.ascontiguousarray(_known(csr.data)),
            np.ascontiguousarray(csr.indices),
            np.ascontiguousarray(csr.indptr),
            csr.shape[1],
        )
    array = np.asarray(X)
    _check_shape(array.shape)
    return DenseRows(np.ascontiguousarray(_known(array)))


def check_real(dtype: np.dtype, source: str = "memory") -> None:
    """Refuse features that are not real numbers (complex, objects, strings, dates)."""
    if dtype.kind not in "biuf":
        raise DataError(f"{source}: features have dtype {dtype}, expected real numbers")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise DataError(f"features have shape {shape}, expected (examples, columns)")


def _known(values: np.ndarray) -> np.ndarray:
    check_real(values.dtype)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
