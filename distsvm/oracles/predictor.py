"""Predictions of inputs in memory, without what only training needs to know of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from distsvm.oracles.oracle import Oracle


class Predictor(ABC):
    """A task with one w, made ready once for many small calls in this process.

    Parameters
    ----------
    frame : Oracle
        The task bound to no example that matters; oracles of inputs are made like it.
    w : float64 array of shape (dim,), which does not change
    """

    def __init__(self, frame: Oracle, w: np.ndarray) -> None:
        self.frame, self.view = frame, frame.view(w)

    @abstractmethod
    def bound(self, inputs: Any) -> Oracle | None:
        """Return an oracle of these inputs, for `decode` and its like alone.

        None where they are not plainly right: then a shard is made of them, which checks them one
        by one and names what is wrong.
        """
