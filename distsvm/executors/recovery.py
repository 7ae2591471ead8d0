"""What to do about a worker that is lost, silent or slow; no process is in sight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from distsvm.errors import ConfigError

# A worker that takes so many times as long as the others for the same call is too slow.
SLOW_FACTOR = 10.0


class Kind(Enum):
    """How a worker was lost."""

    DIED = "died"
    OUT_OF_MEMORY = "ran out of memory"
    SILENT = "gave no sign of life"
    SLOW = "was too slow"
    UNPLACED = "found no place"


class Decision(Enum):
    """What the driver does about it."""

    REBUILD = "rebuild"
    MOVE = "move"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Loss:
    """A worker that counts as lost, with its shards, and how many others are left."""

    kind: Kind
    worker: int
    shards: tuple[int, ...]
    n_others: int


@dataclass(frozen=True)
class Waiting:
    """A worker at work, as the driver sees it; seconds in which the driver did not look are none.

    Parameters
    ----------
    shards : that it holds
    silent_s : since its last sign of life
    waited_s : since it was asked
    others_s : how long those took that were asked the same and have answered
    n_asked : how many were asked the same
    before_s : the longest that anybody has taken for the same method before, 0 if nobody has
    """

    shards: tuple[int, ...]
    silent_s: float
    waited_s: float
    others_s: Sequence[float]
    n_asked: int
    before_s: float = 0.0


@dataclass(frozen=True)
class Limits:
    """How much is borne before something is done.

    Parameters
    ----------
    max_failures : int ≥ 0
        A shard's worker may be lost so often in one run.
    worker_timeout_s : float > 0
        A worker at work that gives no sign of life for so long is lost. So is one that takes this
        long and SLOW_FACTOR times as long as the others, or, where there are no others to compare
        with, SLOW_FACTOR times this long and SLOW_FACTOR times as long as anybody has before.
    call_timeout_s : float > 0 or None
        No call of a worker may take longer, however long the others take.
    min_workers : int ≥ 1
        Shards of lost workers are given to others while so many are left.
    """

    max_failures: int = 3
    worker_timeout_s: float = 30.0
    call_timeout_s: float | None = None
    min_workers: int = 1

    def __post_init__(self) -> None:
        for name, least in (("max_failures", 0), ("min_workers", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name}={value!r}: expected a whole number ≥ {least}")
        for name in ("worker_timeout_s", "call_timeout_s"):
            value = getattr(self, name)
            if value is None and name == "call_timeout_s":
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
                raise ConfigError(f"{name}={value!r}: expected a number of seconds > 0")


@dataclass
class RecoveryPolicy:
    """Rebuilds a worker that died, moves the shards of others, and gives up when it is too often.

    Losses are counted by shard: a node that dies takes many workers once, while a shard that kills
    its process does so wherever it is.
    """

    limits: Limits = field(default_factory=Limits)
    _n_losses: Counter[Hashable] = field(default_factory=Counter)

    def decide(self, loss: Loss) -> Decision:
        """What to do; every loss but that of a place counts."""
        others = loss.n_others >= self.limits.min_workers
        if loss.kind is Kind.UNPLACED:
            return Decision.MOVE if others else Decision.GIVE_UP
        self._n_losses.update(_counted(loss))
        if self.n_losses(loss) > self.limits.max_failures:
            return Decision.GIVE_UP
        if loss.kind is Kind.DIED or not others:
            return Decision.REBUILD
        # A new process in the same place would most likely fare the same.
        return Decision.MOVE

    def n_losses(self, loss: Loss) -> int:
        """How often the worker of one of these shards has been lost so far."""
        return max(self._n_losses[key] for key in _counted(loss))

    def overdue(self, waiting: Waiting) -> Kind | None:
        """Whether a worker that has not answered counts as lost, and as what."""
        limits = self.limits
        if waiting.silent_s > limits.worker_timeout_s:
            return Kind.SILENT
        if limits.call_timeout_s is not None and waiting.waited_s > limits.call_timeout_s:
            return Kind.SLOW
        if 2 * waiting.silent_s > limits.worker_timeout_s:
            return None  # it will soon be known as what it is
        # Twice as patient each time: it may be the shards that take so long, not the worker.
        n_losses = max((self._n_losses[shard] for shard in waiting.shards), default=0)
        factor = SLOW_FACTOR * 2**n_losses
        if 2 * len(waiting.others_s) >= waiting.n_asked:
            limit_s = max(limits.worker_timeout_s, factor * max(waiting.others_s))
        elif waiting.before_s:
            limit_s = max(SLOW_FACTOR * limits.worker_timeout_s, factor * waiting.before_s)
        else:
            return None
        return Kind.SLOW if waiting.waited_s > limit_s else None


def _counted(loss: Loss) -> Sequence[Hashable]:
    return loss.shards or [("worker", loss.worker)]
