"""Host: the objects of a worker process, and answers to requests; errors become data."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from distsvm.blas import limit_to_one_thread
from distsvm.errors import TaskError
from distsvm.executors.base import give_team
from distsvm.executors.failures import named
from distsvm.executors.tree import Sum
from distsvm.team import Team

Ticket: TypeAlias = "tuple[int, int]"
"""The number of starts of the worker before this one, and the number of the request."""


class WorkerTraceback(Exception):
    """The place in the worker where an error was raised, as the cause of the driver's error."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True)
class Failure:
    """An error of a shard, or of none."""

    shard: int | None
    error: Exception
    traceback: str

    def throw(self) -> NoReturn:
        """Raise the error, with the shard's number if there is one."""
        self.error.__cause__ = WorkerTraceback(self.traceback)
        if self.shard is None:
            raise self.error
        raise named(self.error, self.shard) from self.error


@dataclass(frozen=True)
class Reply:
    """A host's answer: a value or a failure, its time, and the memory of its process.

    `n_bytes` is the largest resident memory so far, 0 where the system does not measure it. The
    ticket is that of the request; the driver ignores the answer to an earlier request.
    """

    value: Any = None
    busy_s: float = 0.0
    failure: Failure | None = None
    n_bytes: int = 0
    ticket: Ticket | None = None


class Host:
    """The objects of some shards, and the verbs of requests about them.

    The arguments of each verb are first those that all workers share, then those of this worker.
    `answer` calls the verbs and raises no error. The threads share the shards, and the work of
    one shard if its object supports that.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._objects: dict[int, Any] = {}
        self._team = Team(n_threads)
        limit_to_one_thread()

    def answer(
        self, verb: str, shared: Sequence[Any], own: Sequence[Any], ticket: Ticket | None = None
    ) -> Reply:
        """Return the reply to build, call, carry, take_up or apply."""
        started = time.perf_counter()
        value, failure = None, None
        try:
            value = getattr(self, verb)(shared, *own)
        except _OfShard as found:
            failure = describe(found.error, found.shard)
        except BaseException as error:
            failure = describe(error, None)
        busy_s = time.perf_counter() - started
        return Reply(value, busy_s, failure, resident_bytes(), ticket)

    def build(
        self,
        builders: Sequence[Callable[[], Any]],
        shards: Sequence[int],
        kept: Sequence[int] = (),
    ) -> None:
        """Make one object with each builder; of earlier objects only those of `kept` stay."""
        self._objects = {shard: self._objects[shard] for shard in kept}
        for shard, builder in zip(shards, builders, strict=True):
            with _named(shard):
                self._objects[shard] = builder()
        give_team((self._objects[shard] for shard in shards), self._team)
        limit_to_one_thread()  # for a BLAS that the builders were the first to load

    def call(
        self,
        args: Sequence[Any],
        method: str,
        shards: Sequence[int],
        each: Sequence[tuple[Any, ...]] | None = None,
        groups: Sequence[range] | None = None,
    ) -> list[Any]:
        """Return one result a shard; with groups, the tree nodes of their sums in each group."""

        def call(i: int) -> Any:
            return self._call(shards[i], method, *args, *(each[i] if each else ()))

        if groups is None:
            return list(self._team.map(call, range(len(shards))))
        sums = [Sum(len(group)) for group in groups]
        for total, group in zip(sums, groups, strict=True):
            mine = [i for i, shard in enumerate(shards) if shard in group]
            for i, leaf in zip(mine, self._team.map(call, mine), strict=True):
                total.add({(0, group.index(shards[i])): leaf})
        return [total.nodes for total in sums]

    def carry(self, _: Sequence[Any], shards: Sequence[int]) -> list[Any]:
        """Return the states of these shards' objects since they were prepared."""
        return [
            self._call(shard, "carry") if hasattr(self._objects[shard], "carry") else None
            for shard in shards
        ]

    def take_up(self, _: Sequence[Any], shards: Sequence[int], carried: Sequence[Any]) -> None:
        """Give the objects of these shards the states that `carry` returned on other workers."""
        for shard, state in zip(shards, carried, strict=True):
            if state is not None:
                self._call(shard, "take_up", state)

    def apply(self, shared: Sequence[Any], item: Any) -> Any:
        """Return function(item, *args); the function is the first of the shared arguments."""
        function, *args = shared
        return function(item, *args)

    def _call(self, shard: int, method: str, *args: Any) -> Any:
        with _named(shard):
            return getattr(self._objects[shard], method)(*args)


class _OfShard(Exception):
    """An error of a shard."""

    def __init__(self, error: BaseException, shard: int) -> None:
        self.error, self.shard = error, shard


@contextmanager
def _named(shard: int) -> Iterator[None]:
    """Add the shard to an error."""
    try:
        yield
    except BaseException as error:  # Ctrl-C reaches no worker: a task raised this one
        raise _OfShard(error, shard) from error


def describe(error: BaseException, shard: int | None) -> Failure:
    """Return the error as data that the driver can read in every case."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    error.__traceback__ = None  # its frames hold on to the call's arguments
    if _starved(error):
        return Failure(shard, MemoryError(str(error)), text)
    if isinstance(error, Exception):
        try:
            if type(pickle.loads(pickle.dumps(error))) is type(error):
                return Failure(shard, error, text)
        except Exception:  # whatever its own pickling code may raise
            pass
    return Failure(shard, TaskError(f"{type(error).__name__}: {error}"), text)


def _starved(error: BaseException | None) -> bool:
    """Return whether a lack of memory is the cause, also behind an error with a shard's name."""
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__
    return error is not None


def resident_bytes() -> int:
    """Return the largest resident memory of this process so far."""
    try:
        import resource
    except ImportError:  # not on every system
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
