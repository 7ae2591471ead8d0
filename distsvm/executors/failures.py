"""What to do when a call fails: decisions without any process in sight."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from distsvm.errors import DistSVMError, TaskError


class Decision(Enum):
    """What the driver does about a lost worker."""

    REBUILD = "rebuild"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Loss:
    """A worker process that died: which, how often it has died in this run, and why."""

    worker: int
    shards: tuple[int, ...]
    n_losses: int
    reason: str


@dataclass(frozen=True)
class FailurePolicy:
    """Builds a worker again until it was lost more than `max_failures` times in one run.

    Each worker is counted by itself: a node that dies takes all of its workers at once, while a
    shard that kills its process, for want of memory say, kills the same worker every time.
    """

    max_failures: int = 3

    def decide(self, loss: Loss) -> Decision:
        return Decision.GIVE_UP if loss.n_losses > self.max_failures else Decision.REBUILD


def named(error: BaseException, shard: int) -> DistSVMError:
    """The error with its shard's number: one of ours keeps its type, others become TaskErrors."""
    if isinstance(error, DistSVMError):
        with suppress(Exception):  # a user's subclass may want other arguments
            return type(error)(f"shard {shard}: {error}")
    return TaskError(f"shard {shard}: {type(error).__name__}: {error}")
