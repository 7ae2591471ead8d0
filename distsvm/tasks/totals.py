"""Weighted sums of planes as they grow: what a round asks of one shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from distsvm.messages import Planes
from distsvm.vectors import Vector, compact

# Sums of shards are added where they are, and there dense vectors are fast: sparse ones have to be
# much smaller to be worth it.
SPARSE_GAIN = 8.0


class Total(ABC):
    """Σ weight·p of the planes that were added."""

    @abstractmethod
    def add(self, planes: Planes, weights: np.ndarray) -> None:
        """Add the planes with these weights."""

    @abstractmethod
    def vector(self) -> Vector:
        """The sum; nothing is added afterwards."""


class DenseTotal(Total):
    """Kept as an array of length dim, to which `accumulate` adds."""

    def __init__(
        self, dim: int, accumulate: Callable[[Planes, np.ndarray, np.ndarray], None]
    ) -> None:
        self._a, self._accumulate = np.zeros(dim), accumulate

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        self._accumulate(planes, weights, self._a)

    def vector(self) -> Vector:
        return compact(self._a, gain=SPARSE_GAIN)
