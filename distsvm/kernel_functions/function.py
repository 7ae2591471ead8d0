"""KernelFunction: blocks of values, the diagonal, and the form in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.kernel_functions.checking import checked_block

Matrix: TypeAlias = Any
"""An array, or a sparse matrix of SciPy, which has no types."""

BLOCK_ROWS = 256
"""Rows of a block: its values stay in the processor's cache. A block begins at a multiple of it, so
that a row's values do not depend on how many rows are asked for beyond its own block."""
DENSE_BYTES = 64 << 20
"""The most that sparse rows of the right side take when they are made dense."""


@dataclass(frozen=True)
class KernelFunction(ABC):
    """K(x, x′) of rows; immutable, and small enough to be sent anywhere.

    Its fields are its parameters. Those that depend on the data, such as gamma="scale", are settled
    once by `settled`; blocks need numbers.
    """

    name: ClassVar[str]
    needs_square: ClassVar[bool] = False
    """Whether the training inputs are rows of a square matrix of values ("precomputed")."""

    def settled(self, seen: Any) -> KernelFunction:
        """Return the function with numbers for parameters that depend on the data.

        `seen` is a `sampling.Seen` of all training rows.
        """
        return self

    def anchors(self, rows: Rows, numbers: np.ndarray) -> Rows:
        """Return these training rows as the right side of blocks; rows keep what K needs of them.

        `numbers` are the places of the rows in the training data, which "precomputed" needs.
        """
        return rows

    def block(self, A: Rows, B: Rows, dtype: Any = np.float64) -> np.ndarray:
        """Return K(a, b) of all pairs of rows, shape (A.n_rows, B.n_rows).

        B comes from `anchors`. The values are computed in blocks of `BLOCK_ROWS` rows of A, so that
        temporaries stay small; equal arguments give equal bits.
        """
        out = np.empty((A.n_rows, B.n_rows), dtype)
        for rows, values in self.blocks(A, B, dtype):
            out[rows.start : rows.stop] = values
        return out

    def blocks(
        self, A: Rows, B: Rows, dtype: Any = np.float64
    ) -> Iterator[tuple[range, np.ndarray]]:
        """Yield the rows of A from first to last, some at a time, with their part of `block`."""
        right = self.right(B, dtype)
        for start in range(0, A.n_rows, BLOCK_ROWS):
            rows = range(start, min(start + BLOCK_ROWS, A.n_rows))
            yield rows, self.of_rows(A.rows(rows.start, rows.stop), right)

    def of_rows(self, A: Rows, right: Right) -> np.ndarray:
        """Return the values of a few rows with a prepared right side, refused unless finite."""
        values = self._values(A, right)
        return checked_block(values, (A.n_rows, right.n_rows), self.name)

    def right(self, B: Rows, dtype: Any = np.float64) -> Right:
        """Return the right side of many blocks, prepared once."""
        return Right.of(B, np.dtype(dtype))

    @abstractmethod
    def _values(self, A: Rows, right: Right) -> np.ndarray:
        """Return K(a, b) of all pairs, shape (A.n_rows, right.n_rows)."""

    @abstractmethod
    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        """Return K(a, a) of each row, float64 of shape (A.n_rows,).

        `numbers` are the places of the rows in the training data, which "precomputed" needs unless
        A is the whole of it.
        """

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters, from which `read_function` makes an equal one."""
        return {"name": self.name} | {own.name: getattr(self, own.name) for own in fields(self)}


@dataclass(frozen=True, eq=False)
class Right:
    """Rows as the right side of products.

    Parameters
    ----------
    rows : Rows
    dtype : dtype
        Of the values.
    centre : float64 array or None
        The mean of dense rows. Differences of rows do not depend on it, and are exact to more
        digits where both sides are near it.
    whole : array of shape (n_columns, n_rows), or None
        The rows, dense and transposed, if they fit into DENSE_BYTES.
    """

    rows: Rows
    dtype: np.dtype
    centre: np.ndarray | None
    whole: np.ndarray | None

    @classmethod
    def of(cls, rows: Rows, dtype: np.dtype) -> Right:
        if isinstance(rows, DenseRows):
            centre = rows.values.mean(axis=0, dtype=np.float64) if rows.n_rows else None
            return cls(rows, dtype, centre, np.asarray(rows.values.T, dtype))
        fits = rows.n_rows * rows.n_columns * dtype.itemsize <= DENSE_BYTES
        whole = dense(rows, dtype).T if fits else None
        return cls(rows, dtype, None, whole)

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @cached_property
    def square_norms(self) -> np.ndarray:
        """‖b‖² of each row."""
        return square_norms(self.rows, self.dtype)

    def products(self, A: Rows) -> np.ndarray:
        """Return ⟨a, b⟩ of all pairs of rows."""
        left = matrix(A, self.dtype)
        if self.whole is not None:
            found = left @ self.whole
        else:
            found = left @ matrix(self.rows, self.dtype).T
        return found.toarray() if sparse.issparse(found) else found

    def centred(self) -> Right:
        """Return these rows without their mean; sparse rows stay as they are."""
        if self.centre is None:
            return self
        assert isinstance(self.rows, DenseRows)
        apart = np.asarray(self.rows.values - self.centre, self.dtype)
        return Right(DenseRows(apart), self.dtype, self.centre, apart.T)

    def centre_rows(self, A: Rows) -> Rows:
        """Return the left side as `centred` has the right."""
        if self.centre is None:
            return A
        if isinstance(A, SparseRows):
            A = DenseRows(dense(A))
        return DenseRows(np.asarray(A.values - self.centre, self.dtype))


def matrix(rows: Rows, dtype: Any) -> Matrix:
    """Return the rows as an array or a sparse matrix of this dtype, copied only for that."""
    if isinstance(rows, DenseRows):
        return np.asarray(rows.values, dtype)
    values, columns, starts = rows.arrays()
    given = np.asarray(values, dtype), columns, starts
    return sparse.csr_matrix(given, shape=(rows.n_rows, rows.n_columns))


def dense(rows: Rows, dtype: Any = np.float64) -> np.ndarray:
    """Return the rows as an array of this dtype."""
    found = matrix(rows, dtype)
    return found.toarray() if sparse.issparse(found) else found


def square_norms(rows: Rows, dtype: Any = np.float64) -> np.ndarray:
    """Return ‖x‖² of each row."""
    found = matrix(rows, dtype)
    if sparse.issparse(found):
        return np.asarray(found.multiply(found).sum(axis=1), dtype).ravel()
    return np.einsum("ij,ij->i", found, found)
