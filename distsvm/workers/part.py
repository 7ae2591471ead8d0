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
    """The store of a part's planes."""

    @property
    def changed(self) -> np.ndarray | None:
        """The examples whose planes have changed since it was last cleared; None if unknown."""

    def state(self, rows: np.ndarray | None = None) -> Mapping[str, np.ndarray]:
        """Return everything that a later run needs; with `rows`, planes of these rows alone."""

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Restore the result of `state`; return False if its shard had other pieces."""


class WorkerPart(ABC):
    """A solver's state of a shard's examples, and the methods that its risk calls.

    It may be lost at any time, and then begins anew: a run needs its state to be fast, and not to
    be right.
    """

    turn: int = 0
    """The first example of the next partial round, saved in front of the planes."""

    @property
    @abstractmethod
    def keeper(self) -> Keeper:
        """The store of the planes; another object once the part has begun anew."""

    @property
    def n_bytes(self) -> int:
        """Memory that it takes from the start, before it holds any plane."""
        return 0

    def state(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the arrays that a later run needs to continue with the same bits."""
        yield "turn", np.array(self.turn)
        yield from self.keeper.state().items()

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Restore the result of `state`; return False if its shard had other pieces."""
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
    """The part of a worker that only predicts, or of a solver without state in the workers."""

    @property
    def keeper(self) -> Keeper:
        return Nothing()


class PartMaker(Protocol):
    """Makes the part of one worker; the workers get it, so it must be picklable."""

    def __call__(self, worker: ShardWorker) -> WorkerPart: ...
