"""Everything in this thread, one shard after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from distsvm.executors import tree
from distsvm.executors.base import Activity, Executor
from distsvm.executors.failures import named


class SerialExecutor(Executor):
    """Runs every call where it is made; the reference that the others must equal bit for bit."""

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

    def run(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        chosen = range(len(self._objects)) if shards is None else shards
        return [
            self._call(shard, method, *args, *(each[i] if each else ()))
            for i, shard in enumerate(chosen)
        ]

    prepare = run  # nothing here can be lost, so nothing has to be repeated

    def reduce(
        self,
        method: str,
        *args: Any,
        groups: Sequence[range],
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        sums, first = [], 0
        for group in groups:  # one after another: only one group's results are in memory
            own = each[first : first + len(group)] if each else None
            results = self.run(method, *args, shards=group, each=own)
            sums.append(tree.root({(0, i): one for i, one in enumerate(results)}, len(group)))
            first += len(group)
        return sums

    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        return (function(item, *args) for item in items)

    def activity(self) -> list[Activity]:
        return [Activity(0, tuple(range(len(self._objects))), self._busy_s, 0)]

    def close(self) -> None:
        self._objects = []

    def _call(self, shard: int, method: str, *args: Any) -> Any:
        return self._guard(shard, getattr(self._objects[shard], method), *args)

    def _guard(self, shard: int, function: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args)
        except Exception as error:
            raise named(error, shard) from error
        finally:
            self._busy_s += time.perf_counter() - started
