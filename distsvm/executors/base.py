"""What every executor promises: one object a shard, methods called on all of them."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from distsvm.errors import ConfigError
from distsvm.kinds import Unfit, whole
from distsvm.team import Team


@dataclass(frozen=True)
class Activity:
    """What one worker has done since the executor started."""

    worker: int
    shards: tuple[int, ...]
    busy_s: float
    n_restarts: int


class Executor(ABC):
    """Hosts one object a shard on some workers and calls their methods.

    An executor knows nothing of what the objects compute. It promises:

    - results come in shard order, and `reduce` adds them along one fixed binary tree
      (distsvm.executors.tree), so every executor with any number of workers gives the same bits;
    - an error raised by an object's method is raised here, with the shard's number, and the call
      is never tried again;
    - a worker process that dies is built again, or its shards are given to others: their objects
      are made by their builders, the calls made with `prepare` are repeated on them in order, and
      only these shards are asked again, as often as the recovery policy allows;
    - arrays among the arguments are sent once to each worker process (or node) and arrive there
      read-only; arrays among the results may be read-only too;
    - an object that has a method `use_team` gets the Team of threads of its worker, when it is
      built; the number of threads changes no result.

    One thread at a time may use an executor. `map` needs no `start`; everything else does.
    """

    name: str
    n_workers: int

    @abstractmethod
    def start(
        self,
        builders: Sequence[Callable[[], Any]],
        costs: Sequence[float] | None = None,
        groups: Sequence[range] | None = None,
    ) -> None:
        """Build the objects, builder i for shard i.

        Each of the `groups` (all shards, unless given) is shared out between the workers by
        itself, in consecutive runs of about equal `costs`.
        """

    @abstractmethod
    def run(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """One result a shard, in the order of `shards` (all unless given).

        Shard number s, the i-th of `shards`, is called as `object.method(*args, *each[i])`.
        """

    @abstractmethod
    def prepare(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """As `run`, and repeated on every object that has to be built again.

        The arguments may be read again at any later time, so they must not be changed afterwards.
        """

    @abstractmethod
    def reduce(
        self,
        method: str,
        *args: Any,
        groups: Sequence[range],
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """One sum for each group of consecutive shards; results must have `+`.

        Arguments of their own, in `each`, are in the order of the groups' shards.
        """

    @abstractmethod
    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        """function(item, *args) for each item, in order, with few of them under way at a time.

        An item that is under way must not change.
        An error of the function is raised as it is, or as a TaskError if it cannot be pickled.
        """

    def recall(  # noqa: B027 (where nothing can be lost nothing has to be recalled)
        self, method: str, *, shards: Sequence[int], each: Sequence[tuple[Any, ...]]
    ) -> None:
        """Call this method on every object that has to be built again, after what prepared it.

        It replaces an earlier recall; a later `prepare` ends it.
        """

    def adapt(self) -> None:  # noqa: B027 (most executors have nothing to do)
        """Add workers if there is room for them now; to be called between rounds.

        They take over some of the shards. `carry` of an object, if it has one, returns what it has
        learned since it was prepared, and `take_up` gives that to the object that replaces it.
        """

    def notes(self) -> list[str]:
        """Unusual events since the last call: losses, fewer workers, more workers."""
        return []

    @abstractmethod
    def activity(self) -> list[Activity]:
        """What each worker has done so far."""

    @abstractmethod
    def close(self) -> None:
        """Release objects, processes and memory; a second call does nothing."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def give_team(objects: Iterable[Any], team: Team) -> None:
    """Give the worker's threads to the objects that can use them."""
    for one in objects:
        if hasattr(one, "use_team"):
            one.use_team(team)


def usable_cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_n_workers(n_workers: int) -> int:
    """The number as an int, or a ConfigError if it is none or below one."""
    kind = whole(least=1)
    try:
        return kind.check(n_workers)
    except Unfit:
        raise ConfigError("n_workers", n_workers, kind.expected) from None


def checked_costs(costs: Sequence[float] | None, n_shards: int) -> list[float]:
    """One cost a shard, all equal unless given."""
    if costs is None:
        return [1.0] * n_shards
    if len(costs) != n_shards:
        raise ConfigError(f"there must be one cost a shard, got {len(costs)} for {n_shards}")
    if not all(0 <= cost < math.inf for cost in costs):
        raise ConfigError("the costs of shards must be finite and not negative")
    return [float(cost) for cost in costs]
