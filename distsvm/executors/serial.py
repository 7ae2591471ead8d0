"""SerialExecutor: all work in this thread, one shard after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from distsvm.executors import tree
from distsvm.executors.base import Activity, Call, Executor
from distsvm.executors.failures import named


class SerialExecutor(Executor):
    """Calls in the caller's thread; all other executors give the same bits."""

    name = "serial"
    n_workers = 1

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._busy_s = 0.0

    def start(
        self,
        builders: Sequence[Callable[[], Any]],
        costs: Sequence[float] | None = None,
        groups: Sequence[range] | None = None,
    ) -> None:
        self._objects = [self._guard(shard, build) for shard, build in enumerate(builders)]

    @property
    def n_shards(self) -> int:
        return len(self._objects)

    def _run(self, call: Call) -> list[Any]:
        return [self._result(call, position) for position in range(len(call.shards))]

    def _reduce(self, call: Call) -> list[Any]:
        sums, first = [], 0
        for group in call.groups or ():  # one by one: only one group's results are in memory
            found = {(0, i): self._result(call, first + i) for i in range(len(group))}
            sums.append(tree.root(found, len(group)))
            first += len(group)
        return sums

    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        return (function(item, *args) for item in items)

    def activity(self) -> list[Activity]:
        return [Activity(0, tuple(range(len(self._objects))), self._busy_s, 0)]

    def close(self) -> None:
        self._objects = []

    def _result(self, call: Call, position: int) -> Any:
        shard = call.shards[position]
        return self._guard(shard, call.on, self._objects[shard], position)

    def _guard(self, shard: int, function: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args)
        except Exception as error:
            raise named(error, shard) from error
        finally:
            self._busy_s += time.perf_counter() - started
