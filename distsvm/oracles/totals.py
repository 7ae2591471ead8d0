"""Weighted sums of planes as they grow: what a round asks of one shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from distsvm.messages import Planes
from distsvm.vectors import Vector, compact

if TYPE_CHECKING:
    from distsvm.oracles.oracle import Oracle

# Sums of shards are added where they are, and there dense vectors are fast: sparse ones have to be
# much smaller to be worth it.
SPARSE_GAIN = 8.0


class Total(ABC):
    """Σ weight·p of the planes that were added, which are those of one oracle at a time."""

    @abstractmethod
    def move(self, oracle: Oracle) -> None:
        """Go on with planes of another oracle of the same task."""

    @abstractmethod
    def add(self, planes: Planes, weights: np.ndarray) -> None:
        """Add the planes with these weights."""

    @abstractmethod
    def vector(self) -> Vector:
        """The sum; nothing is added afterwards."""


class DenseTotal(Total):
    """Kept as an array of length dim, to which the oracle's `accumulate` adds."""

    def __init__(self, dim: int, oracle: Oracle) -> None:
        self._a, self._oracle = np.zeros(dim), oracle

    def move(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        self._oracle.accumulate(planes, weights, self._a)

    def vector(self) -> Vector:
        return compact(self._a, gain=SPARSE_GAIN)
