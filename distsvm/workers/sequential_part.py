"""The sequential dual method's part of a worker: a block that the structure defines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.workers.ascent_part import AscentPart, Held
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class SequentialPartMaker:
    """Makes parts, which begin with `hold`."""

    formulation: str
    shrinking: str = "gap"

    def __call__(self, worker: ShardWorker) -> SequentialPart:
        return SequentialPart(worker, self.formulation, self.shrinking)


class SequentialPart(AscentPart):
    """One block of the method, which the oracle makes; its rounds are those of an AscentPart."""

    def __init__(self, worker: ShardWorker, formulation: str, shrinking: str) -> None:
        super().__init__(worker)
        self._formulation, self._shrinking = formulation, shrinking

    def _begun(self, held: Held) -> Any:
        oracle: Any = self._worker.oracle
        return oracle.sequential(
            self._formulation, self._worker.weight, held.C_share, held.seed, held.block,
            held.n_apart, self._worker.team, self._shrinking,
        )  # fmt: skip
