"""The dual over the planes of workers: each host has one block, and all climb at one w."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.messages import Ascended, Ascent, Holding
from distsvm.risks.algebra import combination
from distsvm.risks.base import Risk, Workers
from distsvm.vectors import Vector
from distsvm.workers.support import SupportTable


class BlockRisk(Risk):
    """Rounds of the dual ascent of all blocks, each of which is one host.

    Attributes
    ----------
    total_weight : float
        Σ c_i of all examples.
    """

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers)
        self._hosts, self.total_weight = range(self.n_blocks), workers.total_weight

    def sum(self, vectors: Sequence[Vector]) -> np.ndarray:
        """Return Σ vector, dense."""
        return combination(vectors, np.ones(len(vectors)), self.dim)

    def hold(self, C: float, memory_mb: float, seed: int) -> None:
        """Begin with all α at the truths; so does a worker that is built again."""
        own_mb = memory_mb / self.n_blocks
        self._workers.executor.prepare(
            "on_part", "hold", C / self.total_weight, own_mb, seed, self.n_blocks,
            shards=self._hosts, each=[(block,) for block in self._hosts],
        )  # fmt: skip

    def rescale(self, C: float, factor: float, taken: Sequence[float]) -> None:
        """Change C, with every α times `factor` after the taken part of its block's last changes.

        A worker that is built again begins with all α at the truths, at this C.
        """
        self._workers.executor.prepare(
            "on_part", "rescale", C / self.total_weight, factor, shards=self._hosts,
            each=[(part,) for part in taken],
        )  # fmt: skip

    def ascend(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> list[Ascended]:
        """Return the results of one round, in the order of the blocks."""
        return self._workers.executor.run("on_part", "ascend", w, point, todo, shards=self._hosts)

    def back_up(self) -> bool:
        """Copy all planes to the driver, for workers that are built again.

        Return False if a worker cannot copy its planes.
        """
        executor = self._workers.executor
        planes = executor.run("copy", shards=self._hosts)
        if any(own is None for own in planes):
            return False
        executor.recall("take_up", shards=self._hosts, each=[(own,) for own in planes])
        return True

    def support(self, taken: Sequence[float]) -> list[SupportTable]:
        """Return the planes with α > 0 after the taken part of each block's last changes."""
        each = [(part,) for part in taken]
        return self._workers.executor.run("on_part", "support", shards=self._hosts, each=each)

    def holdings(self) -> list[Holding]:
        """Return Σ α·p and Σ α·q of each block before the last round's changes."""
        return self._workers.executor.run("on_part", "holding", shards=self._hosts)
