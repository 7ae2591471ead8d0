"""ThreadsExecutor: objects in this process, called by a pool of threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import wait
from typing import Any

from distsvm.executors.base import (
    Activity,
    Call,
    Executor,
    checked_costs,
    checked_n_workers,
    give_team,
)
from distsvm.executors.failures import named
from distsvm.executors.tree import Sum
from distsvm.team import Team


class ThreadsExecutor(Executor):
    """Threads that share the memory take shards from one queue, the costliest first.

    Threads without a shard take parts of the others' work. This pays where the objects' methods
    release the interpreter lock, as compiled code does.
    """

    name = "threads"

    def __init__(self, n_workers: int) -> None:
        self.n_workers = checked_n_workers(n_workers)
        self._team = Team(self.n_workers, calls_itself=True, timed=self._timed)
        self._objects: list[Any] = []
        self._costs: list[float] = []
        self._lock = threading.Lock()
        self._busy_s = [0.0] * self.n_workers
        self._numbers: dict[int, int] = {}

    def start(
        self,
        builders: Sequence[Callable[[], Any]],
        costs: Sequence[float] | None = None,
        groups: Sequence[range] | None = None,
    ) -> None:
        self._costs = checked_costs(costs, len(builders))
        objects: list[Any] = [None] * len(builders)
        self._finish(range(len(builders)), lambda i: builders[i](), objects.__setitem__)
        self._objects = objects
        give_team(objects, self._team)

    @property
    def n_shards(self) -> int:
        return len(self._objects)

    def _run(self, call: Call) -> list[Any]:
        results: list[Any] = [None] * len(call.shards)
        self._finish(call.shards, self._caller(call), results.__setitem__)
        return results

    def _reduce(self, call: Call) -> list[Any]:
        groups = call.groups or ()
        sums = [Sum(len(group)) for group in groups]
        leaves = [(g, i) for g, group in enumerate(groups) for i in range(len(group))]

        def add(position: int, result: Any) -> None:
            g, i = leaves[position]
            with self._lock:
                sums[g].add({(0, i): result})

        self._finish(call.shards, self._caller(call), add)
        return [total.total() for total in sums]

    def _caller(self, call: Call) -> Callable[[int], Any]:
        """Return the function of a position that makes its call."""
        return lambda position: call.on(self._objects[call.shards[position]], position)

    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        under_way: deque[Any] = deque()
        try:
            for item in items:
                under_way.append(self._team.submit(function, item, *args))
                if len(under_way) >= 2 * self.n_workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    def activity(self) -> list[Activity]:
        shards = tuple(range(len(self._objects)))  # any thread may take any shard
        return [Activity(worker, shards, busy_s, 0) for worker, busy_s in enumerate(self._busy_s)]

    def close(self) -> None:
        self._team.close()
        self._numbers.clear()
        self._objects = []

    def _finish(
        self,
        chosen: Sequence[int],
        call: Callable[[int], Any],
        take: Callable[[int, Any], None],
    ) -> None:
        """Do take(i, call(i)) for every position i of the chosen shards, or raise the lowest error.

        After an error only lower shards are still called, so the error is always that of the lowest
        shard with one.
        """
        queue = deque(sorted(range(len(chosen)), key=lambda i: -self._costs[chosen[i]]))
        failed: dict[int, Exception] = {}
        lowest = len(self._costs)

        def work() -> None:
            nonlocal lowest
            while True:
                try:
                    i = queue.popleft()
                except IndexError:
                    return
                if chosen[i] > lowest:
                    continue
                try:
                    take(i, call(i))
                except Exception as error:
                    with self._lock:
                        failed[chosen[i]] = error
                        lowest = min(failed)

        workers = [self._team.submit(work) for _ in range(min(self.n_workers, len(chosen)))]
        try:
            for worker in workers:
                worker.result()
        finally:  # after an interrupt no thread may still use the objects
            queue.clear()
            wait(workers)
        if failed:
            raise named(failed[lowest], lowest) from failed[lowest]

    def _timed(self, function: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args)
        finally:
            with self._lock:
                number = self._numbers.setdefault(threading.get_ident(), len(self._numbers))
                self._busy_s[number] += time.perf_counter() - started
