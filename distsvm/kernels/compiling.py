"""Tells when kernels have to be compiled because no compiled code of theirs is on disk yet."""

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
    """Give a function that returns how often kernels were compiled in this context.

    Code taken from the disk cache does not count.
    """
    counter = _Count()
    with event.install_listener("numba:compile", counter):
        yield lambda: counter.n


@contextmanager
def on_first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback()` once when, in this process and context, a first kernel is compiled.

    Code taken from the disk cache does not count. The call comes from the thread that compiles.
    """
    with event.install_listener("numba:compile", _Once(callback)):
        yield
