"""The dual ascent's part of a worker: the planes of its block with their α."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from distsvm.messages import Ascended, Ascent, Holding
from distsvm.workers.ascent import BlockAscent
from distsvm.workers.part import WorkerPart
from distsvm.workers.pieced_ascent import PiecedAscent
from distsvm.workers.pieces import PiecedOracle
from distsvm.workers.shard_worker import ShardWorker
from distsvm.workers.support import SupportTable


@dataclass(frozen=True)
class AscentPartMaker:
    """Makes parts for this penalty, which wait for `hold`."""

    penalty: str = "linear"

    def __call__(self, worker: ShardWorker) -> AscentPart:
        worker.oracle.penalise(self.penalty)
        return AscentPart(worker)


class Held(NamedTuple):
    """The arguments of a block; see BlockAscent."""

    C_share: float
    memory_mb: float
    seed: int
    n_apart: int
    block: int


class AscentPart(WorkerPart):
    """One block of the dual ascent: in memory, or piece by piece where memory is limited."""

    def __init__(self, worker: ShardWorker) -> None:
        self._worker = worker
        self._held: Held | None = None
        self._ascent: BlockAscent | PiecedAscent | None = None

    def hold(
        self, C_share: float, memory_mb: float, seed: int = 0, n_apart: int = 1, block: int = 0
    ) -> None:
        """Begin with all α at the truths; `C_share` is C / Σc of all examples."""
        self._held = Held(C_share, memory_mb, seed, n_apart, block)
        self._ascent = self._begun(self._held)

    def _begun(self, held: Held) -> BlockAscent | PiecedAscent:
        worker, oracle = self._worker, self._worker.oracle
        C_share, memory_mb, seed, n_apart, block = held
        if not isinstance(oracle, PiecedOracle):
            return BlockAscent(
                oracle, worker.weight, C_share, memory_mb, seed, block, n_apart, team=worker.team
            )
        folder, piece_mb = worker.piece_room()
        return PiecedAscent(
            oracle, folder, worker.weight, C_share, min(memory_mb, piece_mb), seed,
            block, n_apart,
        )  # fmt: skip

    @property
    def ascent(self) -> BlockAscent | PiecedAscent:
        """The block's ascent, once `hold` was called."""
        if self._ascent is None:
            raise RuntimeError("hold() comes first")
        return self._ascent

    @property
    def keeper(self) -> BlockAscent | PiecedAscent:
        return self.ascent

    def rescale(self, C_share: float, factor: float, taken: float) -> None:
        """Continue at another C; see BlockAscent.rescale."""
        self.ascent.rescale(C_share, factor, taken)
        assert self._held is not None
        self._held = self._held._replace(C_share=C_share)

    def ascend(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> Ascended:
        """Do one round; see BlockAscent.round."""
        ascent, held = self.ascent, self._held
        assert held is not None
        if ascent.number not in (0, todo.number - 1):
            ascent.fall_behind()  # its planes are those of an earlier round
        regain = todo.regain
        if regain is not None and held.block in regain.blocks:
            todo = replace(todo, taken=regain.taken)
            if regain.w is not None:
                w, point = regain.w, w if point is None else point  # the caller still needs P at w
        with self._worker.limited():
            return ascent.round(w, point, todo)

    def support(self, taken: float) -> SupportTable:
        """The planes with α > 0; see BlockAscent.support."""
        return self.ascent.support(taken)

    def holding(self) -> Holding:
        """Return Σ α·p and Σ α·q before the last round's changes."""
        return self.ascent.holding()
