"""Climbers: w with the effect of one block's own changes of α."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from distsvm.kernels.climb import Held, Whole
from distsvm.messages import Planes
from distsvm.vectors import SparseVector, Vector, compact, index_type

MAX_STEPS = 50
"""Steps within one visit, which nearly solve the dual of an example's few planes."""


class Visits(NamedTuple):
    """The gains of visits: of the dual by the block's own changes, and of Σ α·q.

    `work` counts the products and sums that were made, in the unit of Oracle.call_work.
    """

    gain: float = 0.0
    linear: float = 0.0
    work: float = 0.0

    def plus(self, other: Visits) -> Visits:
        return Visits(*(a + b for a, b in zip(self, other, strict=True)))


class Climber(ABC):
    """w + σ·u, with u = Σ (change of α)·p of the visits so far.

    σ is 1 where no other block changes w meanwhile, else up to the number of blocks.
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
        """Return w + u in the form of the oracle; it is valid until the next visit."""

    @abstractmethod
    def change(self) -> Vector:
        """Return u; not after `begin`, which adds to it."""

    @abstractmethod
    def begin(self, u: Vector) -> None:
        """Begin with this change by other examples of the block; called before any visit."""


class HeldVectors(ABC):
    """p of all planes of a stock, in the form that visits read; planes have slots.

    Results depend on the planes and their slots, and not on the order in which they came.
    """

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """The memory that they take now."""

    @abstractmethod
    def put(self, planes: Planes, slots: np.ndarray, counts: np.ndarray) -> None:
        """Add one plane each of distinct examples, which have had `counts` planes so far."""

    @abstractmethod
    def keep(self, rows: np.ndarray, order: np.ndarray, counts: np.ndarray) -> None:
        """Keep the planes in the slots order[j, : counts[j]] of each of these examples."""

    @abstractmethod
    def least_bytes(self, size: int) -> int:
        """Return the least memory, with room for `size` slots of each example."""

    @abstractmethod
    def resize(self, size: int, beside: int) -> None:
        """Make room for `size` slots of each example, beside this memory of all else."""

    @abstractmethod
    def take_up(self, held: Held, outputs: Any) -> None:
        """Drop all planes, and add those of the stock."""

    @abstractmethod
    def fill_gram(self, held: Held, outputs: Any, rows: np.ndarray, slots: np.ndarray) -> None:
        """Write ⟨p, p'⟩ of the planes in these rows and slots with all of their examples.

        Requires distinct rows, and no truth's plane among any of these. Ensures held.gram[i, s, k]
        = held.gram[i, k, s] for each row i, its slot s and every slot k < held.count[i]; features
        count as `climb_beside` has it.
        """

    @abstractmethod
    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        """Return a climber at w, in which this shard's changes of α count σ times.

        Requires w = Σ α·p of all blocks, and no truth's plane in what it visits; ensures that w
        itself does not change.
        """

    @abstractmethod
    def sum(self, held: Held, outputs: Any, share: np.ndarray) -> Vector:
        """Return Σ share·p of all planes, by example and slot."""


Flat: TypeAlias = "tuple[np.ndarray, np.ndarray, np.ndarray]"
"""Vectors p as index and value of all entries, and where each vector's entries start."""


def joined_change(rows: np.ndarray, inner: np.ndarray, last: np.ndarray, dim: int) -> Vector:
    """Return u whose rows `rows` of r weights are `inner`, and whose last weights are `last`."""
    filled, end = np.flatnonzero(inner), np.flatnonzero(last)
    r = inner.shape[1]
    index = np.concatenate([rows[filled // r] * r + filled % r, dim - last.size + end])
    value = np.concatenate([inner.ravel()[filled], last[end]])
    return compact(SparseVector(index.astype(index_type(dim)), value, dim))


def first_planes(held: Held, rows: np.ndarray) -> np.ndarray:
    """Return the number of each row's first plane, where the rows' planes follow one another."""
    return np.cumsum(held.count[rows], dtype=np.int64) - held.count[rows]


def held_places(held: Held, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return row and slot of every plane of these examples, in their order."""
    count = held.count[rows]
    slot = np.arange(count.sum()) - np.repeat(first_planes(held, rows), count)
    return np.repeat(rows, count), slot
