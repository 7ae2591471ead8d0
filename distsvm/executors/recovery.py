"""The policy for workers that are lost, silent or slow: decisions without input or output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from distsvm.kinds import number, whole
from distsvm.options import check_fields, option

REMOTE = ("processes", "ray")
"""Executors whose workers can get lost."""

# A worker is too slow when it takes this many times as long as the others for the same call.
SLOW_FACTOR = 10.0


class Kind(Enum):
    """The cause of a worker's loss."""

    DIED = "died"
    OUT_OF_MEMORY = "ran out of memory"
    SILENT = "gave no sign of life"
    SLOW = "was too slow"
    UNPLACED = "found no place"


class Decision(Enum):
    """The driver's reaction to a loss."""

    REBUILD = "rebuild"
    MOVE = "move"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Loss:
    """A worker that counts as lost, its shards, and the number of remaining workers."""

    kind: Kind
    worker: int
    shards: tuple[int, ...]
    n_others: int


@dataclass(frozen=True)
class Waiting:
    """A worker with a request; times in which the driver did not look are left out.

    Parameters
    ----------
    shards : the worker's
    silent_s : seconds since its last sign of life
    waited_s : seconds since the request
    others_s : the seconds of workers that have answered the same call
    n_asked : the number of workers with the same call
    before_s : the longest earlier time of the same method on any worker, 0 if there is none
    """

    shards: tuple[int, ...]
    silent_s: float
    waited_s: float
    others_s: Sequence[float]
    n_asked: int
    before_s: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Limits of what a worker may take or lose; also the options of executor "processes"."""

    max_failures: int = option(
        3, kind=whole(least=0), metavar="N", of=REMOTE,
        help="the number of times that the worker of a shard may be lost before the run fails",
    )  # fmt: skip
    worker_timeout_s: float = option(
        30.0, kind=number(above=0, infinite=True), flag="--worker-timeout", metavar="S", unit="s",
        of=REMOTE,
        help="seconds without a sign of life until a worker counts as lost; also the least time "
        "until one that takes ten times as long as the others does. Where there are no others to "
        "compare with: ten times this, and ten times the longest call of the kind before",
    )  # fmt: skip
    call_timeout_s: float | None = option(
        None, kind=number(above=0, infinite=True).or_none(), flag="--call-timeout", metavar="S",
        unit="s", of=REMOTE, help="seconds that one call of a worker may take",
    )  # fmt: skip
    threads_per_worker: int | None = option(
        None, kind=whole(least=1).or_none(), flag="--threads", metavar="N", of=REMOTE,
        usual="for compiled tasks without {worker_memory_mb} the usable cores, divided by "
        "{n_workers} (ray: the CPUs that a worker has); else 1",
        help="threads that share the examples of a worker; never changes the result",
    )  # fmt: skip
    min_workers: int | None = option(
        None, kind=whole(least=1), metavar="N", of=("ray",),
        usual="begin with all, go on with one",
        help="begin with this number if no more find a place, and go on while this number is left: "
        "they get the shards of lost workers",
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def least_workers(self) -> int:
        """The least number of remaining workers that get the shards of lost ones."""
        return 1 if self.min_workers is None else self.min_workers


@dataclass
class RecoveryPolicy:
    """Rebuilds a worker that died, moves the shards of other losses, and gives up after too many.

    Losses are counted by shard: a node that dies ends many workers once, while a shard that kills
    its process kills it on every worker.
    """

    limits: Limits = field(default_factory=Limits)
    _n_losses: Counter[Hashable] = field(default_factory=Counter)

    def decide(self, loss: Loss) -> Decision:
        """Return the decision; a loss counts unless there was no place for the worker."""
        others = loss.n_others >= self.limits.least_workers
        if loss.kind is Kind.UNPLACED:
            return Decision.MOVE if others else Decision.GIVE_UP
        self._n_losses.update(_counted(loss))
        if self.n_losses(loss) > self.limits.max_failures:
            return Decision.GIVE_UP
        if loss.kind is Kind.DIED or not others:
            return Decision.REBUILD
        # A new process in the same place would probably have the same end.
        return Decision.MOVE

    def n_losses(self, loss: Loss) -> int:
        """Return the largest number of losses so far of any of these shards' workers."""
        return max(self._n_losses[key] for key in _counted(loss))

    def overdue(self, waiting: Waiting) -> Kind | None:
        """Return the kind of loss of a worker without an answer; None while it is not lost."""
        limits = self.limits
        if waiting.silent_s > limits.worker_timeout_s:
            return Kind.SILENT
        if limits.call_timeout_s is not None and waiting.waited_s > limits.call_timeout_s:
            return Kind.SLOW
        if 2 * waiting.silent_s > limits.worker_timeout_s:
            return None  # silence will soon decide
        # The limit doubles with each loss: the cause may be the shards, not the worker.
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
