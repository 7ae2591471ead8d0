"""Climbers: w as one block of examples sees it while it changes its own α."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from distsvm.data.features import frozen
from distsvm.kernels import changed_rows, climb_sparse
from distsvm.kernels.changed_rows import ChangedRows
from distsvm.kernels.climb import Held, Whole
from distsvm.messages import Planes
from distsvm.vectors import SparseVector, Vector, compact, index_type

if TYPE_CHECKING:
    from distsvm.oracles.algebra import PlaneAlgebra

MAX_STEPS = 50
"""Steps within one visit: an example's few planes are nearly solved by then."""


class Visits(NamedTuple):
    """What visits have brought: the dual as far as the block's own changes go, and Σ α·q.

    `work` counts the products and sums that were made, in the unit of Oracle.call_work.
    """

    gain: float = 0.0
    linear: float = 0.0
    work: float = 0.0

    def plus(self, other: Visits) -> Visits:
        return Visits(*(a + b for a, b in zip(self, other, strict=True)))


class Live:
    """Weights that the blocks of one process change together, while each sees what others do.

    Two threads may write at once, so that a change is lost here; it never is in α.
    """

    def __init__(self) -> None:
        self._lock, self._made = threading.Lock(), None

    def get(self, make: Callable[[], Any]) -> Any:
        """What the first who asked has made."""
        with self._lock:
            if self._made is None:
                self._made = make()
            return self._made


class Climber(ABC):
    """w + σ·u, with u = Σ (change of α)·p of the visits so far.

    σ is 1 where nobody else changes w meanwhile, and up to the number of blocks where others do.
    """

    @abstractmethod
    def visit(self, held: Held, outputs: Any, rows: np.ndarray, tol: float) -> Visits:
        """Raise the dual over the planes of each of these examples in turn; α in `held` changes.

        Parameters
        ----------
        outputs : the slots that the oracle made, with the planes' outputs
        tol : float
            Values that differ by no more than this count as equal.
        """

    def visit_whole(self, whole: Whole, rows: np.ndarray, tol: float) -> Visits:
        """As visit, over all outputs of each of these examples; where Oracle.n_outputs says so."""
        raise NotImplementedError(f"{type(self).__name__} does not enumerate outputs")

    @abstractmethod
    def view(self) -> Any:
        """w + u, in the form that the oracle takes it."""

    @abstractmethod
    def change(self) -> Vector:
        """u; not after `join`, where nobody knows whose change is whose."""

    @abstractmethod
    def join(self, live: Live) -> None:
        """Change the weights that others change, too, instead of a copy; before any visit."""


Flat: TypeAlias = "tuple[np.ndarray, np.ndarray, np.ndarray]"
"""Vectors p as index and value of all entries, and where each vector's entries start."""


class SparseClimber(Climber):
    """Over planes that the algebra's `flat` writes down; for a w short enough to be copied."""

    def __init__(self, algebra: PlaneAlgebra, w: np.ndarray, sigma: float) -> None:
        self._algebra, self._w, self._sigma, self._z = algebra, w, sigma, np.array(w)

    def visit(self, held: Held, outputs: Any, rows: np.ndarray, tol: float) -> Visits:
        index, value, starts = self._algebra.flat(held_planes(held, outputs, rows)[0])
        return Visits(*climb_sparse.visit_sparse(
            frozen(rows), frozen(first_planes(held, rows)), frozen(index), frozen(value),
            frozen(starts), held, self._sigma, MAX_STEPS, tol, self._z,
        ))  # fmt: skip

    def view(self) -> Any:
        return self._algebra.view(frozen(self._w + (self._z - self._w) / self._sigma))

    def change(self) -> Vector:
        return compact((self._z - self._w) / self._sigma)

    def join(self, live: Live) -> None:
        self._z = live.get(lambda: self._z)


def joined_change(rows: np.ndarray, inner: np.ndarray, last: np.ndarray, dim: int) -> Vector:
    """u whose rows of r weights (numbers `rows`) are `inner`, and whose last weights are `last`."""
    filled, end = np.flatnonzero(inner), np.flatnonzero(last)
    r = inner.shape[1]
    index = np.concatenate([rows[filled // r] * r + filled % r, dim - last.size + end])
    value = np.concatenate([inner.ravel()[filled], last[end]])
    return compact(SparseVector(index.astype(index_type(dim)), value, dim))


def room_for_changes(columns: np.ndarray, V: np.ndarray, times: np.ndarray) -> ChangedRows:
    """No weight changed yet, with room for changes of all rows that are in `columns`."""
    n, r = np.unique(columns).size, V.shape[1]
    n_words = -(-r // changed_rows.WORD)
    return ChangedRows(
        V, np.empty((n, r)), np.empty((n, n_words), np.int64), np.full(V.shape[0], -1, np.int32),
        np.empty(n, np.int32), np.zeros(1, np.int64), times,
    )  # fmt: skip


def room_for_all_changes(V: np.ndarray, times: np.ndarray) -> ChangedRows:
    """Every weight counts as changed, by 0: several may change them without making room first."""
    n, r = V.shape
    word = changed_rows.WORD
    bits = [(1 << min(word, r - first)) - 1 for first in range(0, r, word)]
    mask = np.array(bits, np.uint64).view(np.int64)
    every = np.arange(n, dtype=np.int32)
    return ChangedRows(
        V, np.zeros((n, r)), np.tile(mask, (n, 1)), every, every.copy(), np.array([n]), times
    )


def change_of_rows(changed: ChangedRows, share: float, last: np.ndarray, dim: int) -> Vector:
    """u: `share` of the rows' changes, and behind the rows, as the last weights, `last`."""
    rows, end = np.sort(changed.order[: changed.n[0]]), np.flatnonzero(last)
    n = changed_rows.count_changes(changed)
    index, value = np.empty(n + end.size, index_type(dim)), np.empty(n + end.size)
    changed_rows.write_changes(changed, frozen(rows), share, index[:n], value[:n])
    index[n:], value[n:] = dim - last.size + end, last[end]
    return compact(SparseVector(index, value, dim))


def first_planes(held: Held, rows: np.ndarray) -> np.ndarray:
    """The number of each row's first plane, where the planes of these rows follow one another."""
    return np.cumsum(held.count[rows], dtype=np.int64) - held.count[rows]


def held_planes(held: Held, outputs: Any, rows: np.ndarray) -> tuple[Planes, np.ndarray]:
    """All planes of these examples for the flat map, in their order, and the slot of each.

    The flat map has no need of Δ, which is not held here: their loss is given as q.
    """
    row, slot = held_places(held, rows)
    return Planes.linear(row, outputs[row * held.q.shape[1] + slot], held.q[row, slot]), slot


def held_places(held: Held, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and slot of every plane of these examples, in their order."""
    count = held.count[rows]
    slot = np.arange(count.sum()) - np.repeat(first_planes(held, rows), count)
    return np.repeat(rows, count), slot
