"""The part of a solver that lives in a worker, beside the oracle of one shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from distsvm.workers.shard_worker import ShardWorker


class Keeper(Protocol):
    """What holds the planes of a part."""

    @property
    def changed(self) -> np.ndarray | None:
        """Of which examples the planes have changed since this was last cleared, if it knows."""

    def state(self, rows: np.ndarray | None = None) -> Mapping[str, np.ndarray]:
        """Everything that a later run needs; of the planes only those of these rows, if given."""

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Take up what `state` gave; False where that was of a shard in other pieces."""


class WorkerPart(ABC):
    """What a solver keeps of a shard's examples, and the methods that its risk calls.

    It may be lost at any time, and begins anew then: a run must not need what it holds to be
    right, only to be fast.
    """

    turn: int = 0
    """The example with which the next partial round begins, saved in front of the planes."""

    @property
    @abstractmethod
    def keeper(self) -> Keeper:
        """What holds the planes; another object once the part has begun anew."""

    @property
    def n_bytes(self) -> int:
        """Memory that it takes from the start, whatever it will hold."""
        return 0

    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        """Everything that a later run needs to go on with the same bits, array by array."""
        yield "turn", np.array(self.turn)
        yield from self.keeper.state().items()

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Take up what `state` gave; False where that was of a shard in other pieces."""
        named = iter(named)
        turn = dict(islice(named, 1))["turn"]
        if not self.keeper.restore(named):
            return False
        self.turn = int(turn)
        return True


class Nothing:
    """The keeper of a part that keeps nothing."""

    changed = None

    def state(self, rows: np.ndarray | None = None) -> Mapping[str, np.ndarray]:
        return {}

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        return True


class NoPart(WorkerPart):
    """Of a worker that only predicts, or of a solver that asks the oracle for everything."""

    @property
    def keeper(self) -> Keeper:
        return Nothing()


class PartMaker(Protocol):
    """Makes the part of one worker; it travels to the workers, so it can be pickled."""

    def __call__(self, worker: ShardWorker) -> WorkerPart: ...
