"""A team of threads that shares the work on the examples of one worker."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

AHEAD = 4
"""Parts under way for each thread: no thread waits for the next one, and few results do."""


class Team:
    """Calls a function on the parts of some work, and gives the results in their order.

    The caller chooses the parts, so no result depends on the number of threads. The calling thread
    takes parts too, and waits only for those that another thread has begun. A part may itself be
    shared; while no thread is idle that costs nothing.

    Parameters
    ----------
    n_threads : int
        The calling thread included.
    calls_itself : bool
        Whether those that call `map` are threads of the team, begun by `submit`.
    timed : callable, optional
        Calls what `submit` is given, and counts how long it takes.
    """

    def __init__(
        self,
        n_threads: int = 1,
        *,
        calls_itself: bool = False,
        timed: Callable[..., Any] = lambda call, *args: call(*args),
    ) -> None:
        self.n_threads, self._timed = n_threads, timed
        self._n_pooled = n_threads if calls_itself else n_threads - 1
        self._pool: ThreadPoolExecutor | None = None
        self._lock, self._n_busy = threading.Lock(), 0

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """Have one of the threads call function(*args)."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_pooled, thread_name_prefix="distsvm")
        return self._pool.submit(self._call, function, *args)

    def _call(self, function: Callable[..., Result], *args: Any) -> Result:
        with self._lock:
            self._n_busy += 1
        try:
            return self._timed(function, *args)
        finally:
            with self._lock:
                self._n_busy -= 1

    @property
    def has_idle(self) -> bool:
        """Whether a thread has nothing to do now."""
        return self._n_busy < self._n_pooled

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """function(part) of each part, in order; on one thread each when it is asked for.

        With several threads the first parts are begun at once, and later ones as results are taken.
        The error of the first part that has one is raised.
        """
        if self.n_threads == 1:
            return map(function, parts)
        shared = _Shared(self, function, iter(parts))
        shared.fill()
        return shared.results()

    def close(self) -> None:
        """End the threads; later work starts them anew."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class _Task(Generic[Part, Result]):
    """One part, computed by a thread of the pool, or by the caller if that is first."""

    def __init__(self, team: Team, function: Callable[[Part], Result], part: Part) -> None:
        self._function, self._part = function, part
        self.future = team.submit(function, part)
        self._own: Future[Result] | None = None

    def take(self) -> bool:
        """Compute it in this thread, unless another has begun."""
        if self._own is not None or not self.future.cancel():
            return False
        self._own = Future()
        try:
            self._own.set_result(self._function(self._part))
        except Exception as error:
            self._own.set_exception(error)
        return True

    @property
    def done(self) -> bool:
        return self._own is not None or self.future.done()

    def result(self) -> Result:
        return (self._own or self.future).result()


class _Shared(Generic[Part, Result]):
    """Work that is shared: the parts that are under way, in their order, and those to come."""

    def __init__(
        self, team: Team, function: Callable[[Part], Result], parts: Iterator[Part]
    ) -> None:
        self._team, self._function, self._parts = team, function, parts
        self._tasks: deque[_Task[Part, Result]] = deque()

    def fill(self) -> None:
        """Begin as many parts as may be under way, if there is a thread for them."""
        if self._tasks or self._team.has_idle:
            n_free = AHEAD * self._team.n_threads - len(self._tasks)
            for part in islice(self._parts, n_free):
                self._tasks.append(_Task(self._team, self._function, part))

    def results(self) -> Iterator[Result]:
        try:
            while True:
                if self._tasks:
                    yield self._first()
                else:
                    for part in islice(self._parts, 1):
                        yield self._function(part)
                        break
                    else:
                        return
                self.fill()
        finally:  # also where the caller takes no more results: no thread stays at work
            wait([task.future for task in self._tasks if not task.future.cancel()])

    def _first(self) -> Result:
        first = self._tasks[0]
        while not first.done:
            if not any(task.take() for task in self._tasks):
                wait([first.future])
        return self._tasks.popleft().result()
