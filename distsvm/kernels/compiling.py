"""Callbacks for the compilation of kernels whose compiled code is not in the disk cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


class _Once(event.Listener):
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._lock = threading.Lock()  # threads compile at the same time

    def on_start(self, event: event.Event) -> None:
        with self._lock:
            callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def on_end(self, event: event.Event) -> None:
        pass


class _Count(event.Listener):
    def __init__(self) -> None:
        self.n = 0

    def on_start(self, event: event.Event) -> None:
        self.n += 1

    def on_end(self, event: event.Event) -> None:
        pass


@contextmanager
def counted_compiles() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of compilations of kernels in this context.

    Code taken from the disk cache does not count.
    """
    counter = _Count()
    with event.install_listener("numba:compile", counter):
        yield lambda: counter.n


@contextmanager
def on_first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback()` at the first compilation of a kernel in this process and context.

    Code taken from the disk cache does not count. The compiling thread makes the call.
    """
    with event.install_listener("numba:compile", _Once(callback)):
        yield
