"""Fixtures for the tests of executors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _blas_threads_as_before() -> Iterator[None]:
    with threadpool_limits(1):  # hosts limit them for good
        yield
