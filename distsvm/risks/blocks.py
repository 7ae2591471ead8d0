"""The dual over planes where they live: one block a host, asked together at one w."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.messages import Ascended, Ascent, Holding
from distsvm.risks.algebra import combination
from distsvm.risks.base import Risk, Workers
from distsvm.risks.points import LinearPoint
from distsvm.vectors import Vector


class BlockRisk(Risk):
    """Rounds of the dual ascent of all blocks, each of which is one host.

    Attributes
    ----------
    total_weight : float
        Σ c_i of all examples.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers, self._hosts = workers, range(len(workers.blocks))
        self.dim, self.total_weight = workers.dim, workers.total_weight
        self.n_blocks = len(workers.blocks)

    @classmethod
    def of(cls, workers: Workers) -> BlockRisk:
        return cls(workers)

    def point(self, w: np.ndarray) -> LinearPoint:
        return LinearPoint(w)

    def sum(self, vectors: Sequence[Vector]) -> np.ndarray:
        """Σ vector, dense."""
        return combination(vectors, np.ones(len(vectors)), self.dim)

    def hold(self, C: float, memory_mb: float, seed: int) -> None:
        """Begin with all α at the truths; a worker that has to be built again begins so too."""
        own_mb = memory_mb / self.n_blocks
        self._workers.executor.prepare(
            "on_part", "hold", C / self.total_weight, own_mb, seed, self.n_blocks,
            shards=self._hosts, each=[(block,) for block in self._hosts],
        )  # fmt: skip

    def rescale(self, C: float, factor: float, taken: Sequence[float]) -> None:
        """Go on at this C, with every α `factor` times what was taken of its block's last changes.

        A worker that has to be built again begins with all α at the truths, at this C.
        """
        self._workers.executor.prepare(
            "on_part", "rescale", C / self.total_weight, factor, shards=self._hosts,
            each=[(part,) for part in taken],
        )  # fmt: skip

    def ascend(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> list[Ascended]:
        """One round of every block, in the order of the blocks."""
        return self._workers.executor.run("on_part", "ascend", w, point, todo, shards=self._hosts)

    def back_up(self) -> bool:
        """Copy all planes to the driver, for workers that are built again; False if they cannot."""
        executor = self._workers.executor
        planes = executor.run("copy", shards=self._hosts)
        if any(own is None for own in planes):
            return False
        executor.recall("take_up", shards=self._hosts, each=[(own,) for own in planes])
        return True

    def holdings(self) -> list[Holding]:
        """Σ α·p and Σ α·q of each block before the last round's changes."""
        return self._workers.executor.run("on_part", "holding", shards=self._hosts)
