"""Sparse or dense vectors of float64, and the operations that cuts need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

LONG = 4096  # entries; SciPy merges longer vectors faster than NumPy does
RUN = 1 << 16  # entries of a vector that fit into the processor's cache


@dataclass(frozen=True, eq=False)
class SparseVector:
    """A vector of length `dim` that is zero except at `index`.

    Parameters
    ----------
    index : integer array of shape (nnz,)
        Strictly increasing positions in 0 … dim − 1.
    value : float64 array of shape (nnz,)
    dim : int
    """

    index: np.ndarray
    value: np.ndarray
    dim: int

    @classmethod
    def of(cls, entries: dict[int, float], dim: int) -> SparseVector:
        """Return the vector with these entries, in any order; zeros are left out."""
        kept = sorted((i, v) for i, v in entries.items() if v != 0)
        index = np.array([i for i, _ in kept], dtype=np.int64)
        value = np.array([v for _, v in kept], dtype=np.float64)
        return cls(index, value, dim)

    @property
    def size(self) -> int:
        """The length of the vector, under the name that arrays have for it."""
        return self.dim

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + self.value.nbytes


Vector: TypeAlias = "np.ndarray | SparseVector"


def index_type(dim: int) -> type[np.integer]:
    """Return the smallest type for the positions of a vector of length dim."""
    return np.int32 if dim < 2**31 else np.int64


def is_small(nnz: int, dim: int, gain: float = 1.0) -> bool:
    """Return whether nnz entries take less than 1/gain of the bytes of a dense vector."""
    return gain * nnz * (8 + np.dtype(index_type(dim)).itemsize) < 8 * dim


def compact(v: Vector, gain: float = 1.0) -> Vector:
    """Return the same vector, sparse where that takes less than 1/gain of the bytes, else dense.

    The form depends on the entries that are not 0, and not on the form of v.
    """
    filled = (v.value if isinstance(v, SparseVector) else v) != 0
    nnz = int(np.count_nonzero(filled))
    if not is_small(nnz, v.size, gain):
        return to_dense(v)
    if isinstance(v, np.ndarray):
        index = np.flatnonzero(filled)
        value = v[index]
    elif nnz == filled.size:
        index, value = v.index, v.value
    else:
        index, value = v.index[filled], v.value[filled]
    return SparseVector(index.astype(index_type(v.size), copy=False), value, v.size)


def to_dense(v: Vector) -> np.ndarray:
    """Return the vector as a float64 array; a dense one unchanged."""
    if isinstance(v, np.ndarray):
        return v
    out = np.zeros(v.dim)
    out[v.index] = v.value
    return out


def add_into(out: np.ndarray, coefficient: float, v: Vector) -> None:
    """out += coefficient · v."""
    if isinstance(v, SparseVector):
        out[v.index] += coefficient * v.value
    else:
        out += coefficient * v


def add(u: Vector, v: Vector) -> Vector:
    """Return u + v; sparse only when both are."""
    if isinstance(u, SparseVector) and isinstance(v, SparseVector):
        return _merged(u, v)
    dense, other = (u, v) if isinstance(u, np.ndarray) else (v, u)
    out = np.array(dense)
    add_into(out, 1.0, other)
    return out


def _merged(u: SparseVector, v: SparseVector) -> SparseVector:
    if u.index.size + v.index.size > LONG:
        total = _as_row(u) + _as_row(v)
        return SparseVector(total.indices, total.data, u.dim)
    index = np.concatenate([u.index, v.index])
    order = np.argsort(index, kind="stable")
    index, value = index[order], np.concatenate([u.value, v.value])[order]
    twice = index[1:] == index[:-1]
    value[:-1][twice] += value[1:][twice]
    kept = np.concatenate([[True], ~twice])[: index.size]
    return SparseVector(index[kept], value[kept], u.dim)


def _as_row(v: SparseVector) -> sparse.csr_matrix:
    ends = np.array([0, v.index.size], dtype=v.index.dtype)
    row = sparse.csr_matrix((v.value, v.index, ends), shape=(1, v.dim))
    row.has_canonical_format = True  # saves SciPy the check
    return row


def subtract(u: SparseVector, v: SparseVector) -> SparseVector:
    """Return u − v, sparse, without the entries that cancel."""
    difference = add(u, scale(v, -1.0))
    assert isinstance(difference, SparseVector)
    kept = difference.value != 0
    return SparseVector(difference.index[kept], difference.value[kept], u.dim)


def scale(v: Vector, factor: float) -> Vector:
    """Return factor · v, in the same form."""
    if isinstance(v, SparseVector):
        return SparseVector(v.index, factor * v.value, v.dim)
    return factor * v


def mix(u: np.ndarray, v: np.ndarray, share: float) -> np.ndarray:
    """Return (1 − share)·u + share·v, without a temporary array of their length."""
    out = np.empty_like(u)
    for run in _runs(u.size):
        np.multiply(u[run], 1 - share, out=out[run])
        out[run] += share * v[run]
    return out


def mix_into(out: np.ndarray, v: np.ndarray, share: float) -> None:
    """out = (1 − share)·out + share·v, in place."""
    for run in _runs(out.size):
        out[run] += share * (v[run] - out[run])


def _runs(size: int) -> Iterator[slice]:
    return (slice(start, start + RUN) for start in range(0, size, RUN))


def dot(u: Vector, v: Vector) -> float:
    """Return ⟨u, v⟩."""
    if isinstance(u, np.ndarray):
        if isinstance(v, np.ndarray):
            return float(u @ v)
        u, v = v, u
    if isinstance(v, np.ndarray):
        return float(u.value @ v[u.index])
    small, large = (u, v) if u.index.size <= v.index.size else (v, u)
    if large.index.size == 0:
        return 0.0
    place = np.minimum(np.searchsorted(large.index, small.index), large.index.size - 1)
    hit = large.index[place] == small.index
    return float(small.value[hit] @ large.value[place[hit]])
