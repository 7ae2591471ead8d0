"""Risk: what a cutting-plane loop talks to, so that it never sees an example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distsvm.cuts.cut import Cut
from distsvm.executors.base import Executor
from distsvm.risks.points import Point
from distsvm.vectors import Vector


@dataclass(frozen=True, eq=False)
class Workers:
    """Where the examples are, as far as a risk has to know it.

    Parameters
    ----------
    executor : Executor
        Hosts a bound ShardWorker for each host of the training data.
    blocks : list of range
        The hosts of each block.
    dim : int
        The length of w.
    n_examples : int
    total_weight : float
        Σ c_i of all examples.
    """

    executor: Executor
    blocks: Sequence[range]
    dim: int
    n_examples: int
    total_weight: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Cuts of every block found at one w, and what is known of the risk there.

    Parameters
    ----------
    cuts : list of Cut, one a block
    risk : float
        R(w), or an upper bound of it where `exact` is False; means something only if `fresh`.
    fresh : bool
        Whether every example was asked at this very w; only then may the answer certify.
    exact : bool
    n_calls, n_hits, n_planes : int
        Oracle calls made, examples served from caches, planes held in them now.
    late : bool
        Whether the time was over before all that were to be asked were. The cuts hold all the same.
    """

    cuts: list[Cut]
    risk: float
    fresh: bool
    exact: bool
    n_calls: int
    n_hits: int
    n_planes: int
    late: bool = False


class Risk(ABC):
    """R(w) for a solver: it asks the workers, and it alone multiplies vectors.

    Attributes
    ----------
    dim : int
        The length of the array that stands for a point.
    n_blocks : int
    """

    dim: int
    n_blocks: int

    @classmethod
    @abstractmethod
    def of(cls, workers: Workers) -> Risk:
        """The risk of the examples that these workers have."""

    @abstractmethod
    def point(self, w: np.ndarray) -> Point:
        """The point that this array stands for; changes of the one are changes of the other."""

    def zero(self) -> np.ndarray:
        """What stands for w = 0."""
        return np.zeros(self.dim)


class CutRisk(Risk):
    """R(w) as a source of cuts: R(w') ≥ Σ_block b − ⟨a, w'⟩ for every cut and every w'."""

    @abstractmethod
    def fresh(self, w: np.ndarray) -> Answer:
        """Ask the oracle about every example at w."""

    @abstractmethod
    def cached(self, w: np.ndarray) -> Answer:
        """Look into the caches only."""

    @abstractmethod
    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Answer:
        """Ask the oracle about a further part of the examples at w, the caches about the rest."""

    @abstractmethod
    def is_empty(self, cut: Cut) -> bool:
        """Whether this is the truth's cut (0, 0), which is in every block without being there."""

    @abstractmethod
    def gram_row(self, cut: Cut, cuts: Sequence[Cut]) -> np.ndarray:
        """⟨cut.a, a⟩ for every one of `cuts`."""

    @abstractmethod
    def combine(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> Vector:
        """Σ coefficient·vector."""

    @abstractmethod
    def weights(self, cuts: Sequence[Cut], alpha: np.ndarray) -> np.ndarray:
        """w = Σ α·a."""
