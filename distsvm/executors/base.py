"""The contract of executors: one object a shard, and calls of its methods."""

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
    """The work of one worker since the executor started."""

    worker: int
    shards: tuple[int, ...]
    busy_s: float
    n_restarts: int


@dataclass(frozen=True, eq=False)
class Call:
    """A method of the objects of some shards; position i is that of shards[i].

    Parameters
    ----------
    method : str
    args : tuple, or a handle
        The arguments of all shards; a transport has a handle in their place.
    shards : sequence of int
    each : sequence of tuple, optional
        Further arguments of each position.
    groups : sequence of range, optional
        Groups of consecutive shards whose results are added up.
    """

    method: str
    args: Any
    shards: Sequence[int]
    each: Sequence[tuple[Any, ...]] | None = None
    groups: Sequence[range] | None = None

    def on(self, one: Any, position: int) -> Any:
        """Return the result of the object at this position."""
        own = self.each[position] if self.each else ()
        return getattr(one, self.method)(*self.args, *own)


class Executor(ABC):
    """One object a shard, on some workers, and calls of the objects' methods.

    An executor does not depend on what the objects compute. It promises:

    - results come in shard order, and `reduce` adds them along one fixed binary tree
      (distsvm.executors.tree), so every executor with any number of workers gives the same bits;
    - an error of an object's method is raised here, with the shard's number, and the call is not
      repeated;
    - a worker process that dies is started again, or other workers get its shards: the builders
      make the objects anew, the calls of `prepare` are repeated on them in order, and then the
      call under way, for these shards only, as often as the recovery policy allows;
    - arrays among the arguments are sent once to each worker process (or node) and arrive there
      read-only; arrays among the results may be read-only too;
    - an object that has a method `use_team` gets the Team of threads of its worker when it is
      built; the number of threads changes no result.

    One thread at a time may use an executor. `map` needs no `start`; all other methods do.
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
        """Build the objects; builder i makes that of shard i.

        Each of the `groups` (default: one of all shards) is cut into consecutive runs of about
        equal `costs`, one for each worker.
        """

    def run(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return one result a shard, in the order of `shards` (default: all).

        The object of the i-th of `shards` is called as `object.method(*args, *each[i])`.
        """
        return self._run(self._call(method, args, shards, each))

    def prepare(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Do the same as `run`, and repeat the call on every object that is built again later.

        The arguments must not change afterwards, because a later repetition reads them.
        """
        return self._prepare(self._call(method, args, shards, each))

    def reduce(
        self,
        method: str,
        *args: Any,
        groups: Sequence[range],
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return one sum for each group of consecutive shards; results must have `+`.

        `each` is in the order of the groups' shards.
        """
        shards = [shard for group in groups for shard in group]
        return self._reduce(Call(method, args, shards, each, groups))

    @property
    @abstractmethod
    def n_shards(self) -> int:
        """The number of objects."""

    def _call(
        self, method: str, args: Any, shards: Sequence[int] | None,
        each: Sequence[tuple[Any, ...]] | None,
    ) -> Call:  # fmt: skip
        return Call(method, args, range(self.n_shards) if shards is None else shards, each)

    @abstractmethod
    def _run(self, call: Call) -> list[Any]:
        """Return one result for each position of the call."""

    def _prepare(self, call: Call) -> list[Any]:
        return self._run(call)  # sufficient where no object can be lost

    @abstractmethod
    def _reduce(self, call: Call) -> list[Any]:
        """Return one sum for each group of the call."""

    @abstractmethod
    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        """Yield function(item, *args) for each item, in order, with few items under way.

        An item that is under way must not change. An error of the function is raised unchanged, or
        as a TaskError if it cannot be pickled.
        """

    def recall(  # noqa: B027 (without losses there is nothing to recall)
        self, method: str, *, shards: Sequence[int], each: Sequence[tuple[Any, ...]]
    ) -> None:
        """Call this method on every object that is built again, after the calls of `prepare`.

        It replaces an earlier recall, and a later `prepare` cancels it.
        """

    def adapt(self) -> None:  # noqa: B027 (most executors have nothing to do)
        """Add workers if there is room for them now; called between rounds.

        They get some of the shards. The method `carry` of an object, if it has one, returns its
        state since it was prepared, and `take_up` of the object that replaces it gets that state.
        """

    def notes(self) -> list[str]:
        """Return unusual events since the last call: losses, fewer workers, more workers."""
        return []

    @abstractmethod
    def activity(self) -> list[Activity]:
        """Return the work of each worker so far."""

    @abstractmethod
    def close(self) -> None:
        """Release objects, processes and memory; a second call has no effect."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def give_team(objects: Iterable[Any], team: Team) -> None:
    """Pass the worker's threads to the objects that can use them."""
    for one in objects:
        if hasattr(one, "use_team"):
            one.use_team(team)


def usable_cores() -> int:
    """Return the number of cores that this process may use, at most those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_n_workers(n_workers: int) -> int:
    """Return the number; refuse one that is no whole number ≥ 1."""
    kind = whole(least=1)
    try:
        return kind.check(n_workers)
    except Unfit:
        raise ConfigError("n_workers", n_workers, kind.expected) from None


def checked_costs(costs: Sequence[float] | None, n_shards: int) -> list[float]:
    """Return one cost a shard; the default costs are equal."""
    if costs is None:
        return [1.0] * n_shards
    if len(costs) != n_shards:
        raise ConfigError(f"there must be one cost a shard, got {len(costs)} for {n_shards}")
    if not all(0 <= cost < math.inf for cost in costs):
        raise ConfigError("the costs of shards must be finite and not negative")
    return [float(cost) for cost in costs]
