"""Weighted sums of planes: a shard's part of a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from distsvm.messages import Planes
from distsvm.vectors import Vector, compact

if TYPE_CHECKING:
    from distsvm.oracles.algebra import PlaneAlgebra

# The driver adds sums of shards, and dense vectors are fast to add: a sparse one is worth it only
# if it is much smaller.
SPARSE_GAIN = 8.0


class Total(ABC):
    """Σ weight·p of added planes; they come from one shard at a time."""

    @abstractmethod
    def move(self, algebra: PlaneAlgebra) -> None:
        """Take later planes from another shard of the same task."""

    @abstractmethod
    def add(self, planes: Planes, weights: np.ndarray) -> None:
        """Add the planes with these weights."""

    @abstractmethod
    def vector(self) -> Vector:
        """Return the sum; call `add` no more afterwards."""


class DenseTotal(Total):
    """A total in an array of length dim, to which the oracle's `accumulate` adds."""

    def __init__(self, dim: int, algebra: PlaneAlgebra) -> None:
        self._a, self._algebra = np.zeros(dim), algebra

    def move(self, algebra: PlaneAlgebra) -> None:
        self._algebra = algebra

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        self._algebra.accumulate(planes, weights, self._a)

    def vector(self) -> Vector:
        return compact(self._a, gain=SPARSE_GAIN)
