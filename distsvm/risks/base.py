"""Risk: the interface of a solver to the examples, which the solver itself never sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cuts.cut import Cut
from distsvm.executors.base import Executor
from distsvm.oracles.task import Task
from distsvm.risks.points import LinearPoint
from distsvm.vectors import Vector


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers of the training data, with what a risk needs.

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
    """Cuts of every block found at one w, and bounds of the risk there.

    Parameters
    ----------
    cuts : list of Cut, one a block
    risk : float
        R(w), or an upper bound of it where `exact` is False; valid only if `fresh`.
    fresh : bool
        Whether the oracle was called for every example at this very w; only then the answer
        certifies.
    exact : bool
    n_calls, n_hits, n_planes : int
        Oracle calls made, examples served from caches, planes in the caches now.
    late : bool
        Whether the time limit came before all oracle calls were made. The cuts are true anyway.
    """

    cuts: list[Cut]
    risk: float
    fresh: bool
    exact: bool
    n_calls: int
    n_hits: int
    n_planes: int
    late: bool = False


class Risk:
    """R(w) for a solver: it calls the workers, and it alone multiplies vectors.

    Attributes
    ----------
    dim : int
        The length of the array of a point.
    n_blocks : int
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.dim, self.n_blocks = workers.dim, len(workers.blocks)

    def point(self, w: np.ndarray) -> LinearPoint:
        """Return the point of this array; changes of the one are changes of the other."""
        return LinearPoint(w)

    def zero(self) -> np.ndarray:
        """Return the array of w = 0."""
        return np.zeros(self.dim)

    def sent(self, w: np.ndarray) -> Any:
        """Return the w of a point's array for the oracles' `view`: by default the array itself."""
        return w

    def model(self, task: Task, w: np.ndarray) -> tuple[Task, np.ndarray]:
        """Return task and w of the model of a point's array: by default these two.

        Where a point is a set of coefficients of examples, the model's task gets the examples.
        """
        return task, w


class CutRisk(Risk, ABC):
    """R(w) as a source of cuts: R(w') ≥ Σ_block b − ⟨a, w'⟩ for every cut and every w'."""

    @abstractmethod
    def fresh(self, w: np.ndarray) -> Answer:
        """Call the oracle for every example at w."""

    @abstractmethod
    def cached(self, w: np.ndarray) -> Answer:
        """Search the caches only."""

    @abstractmethod
    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Answer:
        """Call the oracle for a further part of the examples at w; search caches for the rest."""

    @abstractmethod
    def is_empty(self, cut: Cut) -> bool:
        """Return whether this is the truth's cut (0, 0), which every block has implicitly."""

    @abstractmethod
    def gram_row(self, cut: Cut, cuts: Sequence[Cut]) -> np.ndarray:
        """Return ⟨cut.a, a⟩ for every one of `cuts`."""

    @abstractmethod
    def combine(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> Vector:
        """Return Σ coefficient·vector."""

    @abstractmethod
    def weights(self, cuts: Sequence[Cut], alpha: np.ndarray) -> np.ndarray:
        """Return w = Σ α·a."""
