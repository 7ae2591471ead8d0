"""Weighted sums of planes as they grow: what a round asks of one shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from distsvm.messages import Planes
from distsvm.vectors import Vector, compact

if TYPE_CHECKING:
    from distsvm.oracles.algebra import PlaneAlgebra

# Sums of shards are added where they are, and there dense vectors are fast: sparse ones have to be
# much smaller to be worth it.
SPARSE_GAIN = 8.0


class Total(ABC):
    """Σ weight·p of the planes that were added, which are those of one shard at a time."""

    @abstractmethod
    def move(self, algebra: PlaneAlgebra) -> None:
        """Go on with planes of another shard of the same task."""

    @abstractmethod
    def add(self, planes: Planes, weights: np.ndarray) -> None:
        """Add the planes with these weights."""

    @abstractmethod
    def vector(self) -> Vector:
        """The sum; nothing is added afterwards."""


class DenseTotal(Total):
    """Kept as an array of length dim, to which the oracle's `accumulate` adds."""

    def __init__(self, dim: int, algebra: PlaneAlgebra) -> None:
        self._a, self._algebra = np.zeros(dim), algebra

    def move(self, algebra: PlaneAlgebra) -> None:
        self._algebra = algebra

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        self._algebra.accumulate(planes, weights, self._a)

    def vector(self) -> Vector:
        return compact(self._a, gain=SPARSE_GAIN)
