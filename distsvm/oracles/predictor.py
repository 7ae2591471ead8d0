"""Predictions of inputs in memory, without the parts of a shard that only training needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from distsvm.data.words import Features
from distsvm.oracles.oracle import Oracle


class Predictor(ABC):
    """A task with one w, prepared once for many small calls in this process.

    Parameters
    ----------
    frame : Oracle
        The task bound to any shard; oracles of inputs are copies of it with other examples.
    w : float64 array of shape (dim,), which does not change
    """

    def __init__(self, frame: Oracle, w: np.ndarray) -> None:
        self.frame, self.view = frame, frame.view(w)

    @abstractmethod
    def bound(self, inputs: Any) -> Oracle | None:
        """Return an oracle of these inputs for predictions alone.

        None if they do not pass the fast checks: the caller then makes a shard of them, which
        checks them one by one and names the error.
        """

    def bound_words(self, sentences: Sequence[Sequence[str]], features: Features) -> Oracle | None:
        """As `bound`, of sentences in words, of which `features` makes inputs."""
        return self.bound(features(sentences))
