"""BLAS on one thread: the shard is the unit of parallel work, and sums keep their order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_n_users = 0
_limits: Any = None


def limit_to_one_thread() -> Any:
    """Limit every BLAS of this process to one thread; the returned object lifts the limit."""
    import scipy.linalg.cython_blas  # noqa: F401  (compiled kernels load this BLAS; limit it too)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit every BLAS of this process to one thread while any thread is inside.

    The limit belongs to the process: of several trainings at once, the last to end lifts it.
    """
    global _n_users, _limits
    with _lock:
        if _n_users == 0:
            _limits = limit_to_one_thread()
        _n_users += 1
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _limits.restore_original_limits()
