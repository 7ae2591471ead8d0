"""Risk: what a cutting-plane loop talks to, so that it never sees an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from distsvm.cuts.cut import Cut
from distsvm.vectors import Vector


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


class Risk(Protocol):
    """R(w) as a source of cuts: R(w') ≥ Σ_block b − ⟨a, w'⟩ for every cut and every w'."""

    dim: int
    n_examples: int
    n_blocks: int
    has_cache: bool

    def fresh(self, w: np.ndarray) -> Answer:
        """Ask the oracle about every example at w."""

    def cached(self, w: np.ndarray) -> Answer:
        """Look into the caches only."""

    def refresh(self, w: np.ndarray, round_number: int, fraction: float) -> Answer:
        """Ask the oracle about a further part of the examples at w, the caches about the rest."""

    def gram_row(self, cut: Cut, cuts: Sequence[Cut]) -> np.ndarray:
        """⟨cut.a, a⟩ for every one of `cuts`."""

    def combine(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> Vector:
        """Σ coefficient·vector."""

    def weights(self, cuts: Sequence[Cut], alpha: np.ndarray) -> np.ndarray:
        """w = Σ α·a."""
