"""The part of a solver that lives in a worker, beside the oracle of one shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from distsvm.workers.shard_worker import ShardWorker


class WorkerPart(ABC):
    """What a solver keeps of a shard's examples, and the methods that its risk calls.

    It may be lost at any time, and begins anew then: a run must not need what it holds to be
    right, only to be fast.
    """

    @property
    def n_bytes(self) -> int:
        """Memory that it takes from the start, whatever it will hold."""
        return 0

    @abstractmethod
    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        """Everything that a later run needs to go on with the same bits, array by array."""

    @abstractmethod
    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Take up what `state` gave; False where that was of a shard in other pieces."""


class NoPart(WorkerPart):
    """Of a worker that only predicts: it keeps nothing."""

    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from ()

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        return True


class PartMaker(Protocol):
    """Makes the part of one worker; it travels to the workers, so it can be pickled."""

    def __call__(self, worker: ShardWorker) -> WorkerPart: ...
