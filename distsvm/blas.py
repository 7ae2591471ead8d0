"""BLAS on one thread: the shard is the unit of parallel work, and sums keep their order."""

from __future__ import annotations

from contextlib import AbstractContextManager


def one_thread() -> AbstractContextManager[object]:
    """Limit every BLAS of this process to one thread, for as long as the context lasts."""
    import scipy.linalg.cython_blas  # noqa: F401  (compiled kernels load this BLAS; limit it too)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
