"""The risk of single examples: hosts return violated planes, each with its p and output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.messages import Violated
from distsvm.risks.base import Risk, Workers


class AskRisk(Risk):
    """Planes of single examples; their numbers run through all hosts in order.

    Attributes
    ----------
    first : int64 array of shape (n_hosts + 1,)
        The number of each host's first example; the last entry is the number of examples.
    weight : float64 array of shape (n,)
        c_i of every example.
    total_weight : float
    """

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)
        self.total_weight = workers.total_weight
        self._hosts = range(max(block.stop for block in workers.blocks))
        parts = workers.executor.run("on_part", "weights", shards=self._hosts)
        self.weight = np.concatenate(parts)
        self.first = np.cumsum([0, *(part.size for part in parts)])

    @property
    def n_hosts(self) -> int:
        return len(self._hosts)

    @property
    def sizes(self) -> np.ndarray:
        """The number of examples of each host."""
        return np.diff(self.first)

    def ask(
        self, w: np.ndarray, eps: float, start: np.ndarray, stop: np.ndarray, slack: np.ndarray
    ) -> list[Violated]:
        """Return the violated planes of every host's examples start … stop − 1 at one w.

        `slack` has ξ of every example.
        """
        bounds = list(zip(start.tolist(), stop.tolist(), self.first.tolist(), strict=False))
        each = [(low, high, slack[first + low : first + high]) for low, high, first in bounds]
        return self._workers.executor.run("on_part", "ask", w, eps, shards=self._hosts, each=each)

    def mean(self, slack: np.ndarray) -> float:
        """Return Σ c_i·ξ_i / Σ c_i."""
        return float(self.weight @ slack) / self.total_weight

    def names(self, examples: Sequence[int]) -> list[str]:
        """Return the names of these examples in messages."""
        names = []
        for example in examples:
            host = int(np.searchsorted(self.first, example, side="right")) - 1
            row = int(example - self.first[host])
            names += self._workers.executor.run("on_part", "names", [row], shards=[host])[0]
        return names
