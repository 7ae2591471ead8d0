"""The dual over planes where they live: one block a shard, asked together at one w."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.executors.base import Executor
from distsvm.messages import Ascended, Ascent, Holding
from distsvm.oracles.climber import Live


class BlockRisk:
    """Rounds of the dual ascent of all blocks.

    Parameters
    ----------
    executor : Executor
        Hosts a bound ShardWorker for each of the shards.
    shards : sequence of int
        Each is a block.
    total_weight : float
        Σ c_i of all examples.
    together : bool
        Blocks see each other's changes at once. The executor's objects must be of this process.
    """

    def __init__(
        self, executor: Executor, shards: Sequence[int], dim: int, n_examples: int,
        total_weight: float, together: bool = False,
    ) -> None:  # fmt: skip
        self.executor, self.shards = executor, shards
        self.dim, self.n_examples, self.total_weight = dim, n_examples, total_weight
        self.n_blocks, self.together = len(shards), together
        self.n_apart = 1 if together else self.n_blocks

    def hold(self, C: float, memory_mb: float, seed: int) -> None:
        """Begin with all α at the truths; a worker that has to be built again begins so too."""
        own_mb = memory_mb / self.n_blocks
        self.executor.prepare(
            "hold", C / self.total_weight, own_mb, seed, self.n_apart, shards=self.shards,
            each=[(block,) for block in range(self.n_blocks)],
        )  # fmt: skip

    def rescale(self, C: float, factor: float, taken: Sequence[float]) -> None:
        """Go on at this C, with every α `factor` times what was taken of its block's last changes.

        A worker that has to be built again begins with all α at the truths, at this C.
        """
        self.executor.prepare(
            "rescale", C / self.total_weight, factor, shards=self.shards,
            each=[(part,) for part in taken],
        )  # fmt: skip

    def ascend(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> list[Ascended]:
        """One round of every block, in the order of the blocks."""
        live = (Live(),) if self.together else ()
        return self.executor.run("ascend", w, point, todo, *live, shards=self.shards)

    def back_up(self) -> bool:
        """Copy all planes to the driver, for workers that are built again; False if they cannot."""
        planes = self.executor.run("copy", shards=self.shards)
        if any(own is None for own in planes):
            return False
        self.executor.recall("take_up", shards=self.shards, each=[(own,) for own in planes])
        return True

    def holdings(self) -> list[Holding]:
        """Σ α·p and Σ α·q of each block before the last round's changes."""
        return self.executor.run("holding", shards=self.shards)
