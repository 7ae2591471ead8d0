"""Fixtures for all tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# What a shell runs in the background ignores SIGINT, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Ray reads this once, when it is imported, and any test may be the first to import it.
os.environ.setdefault("RAY_AUTH_MODE", "token")

# Kernels compile, and machines are shared: how long an example takes proves nothing.
settings.register_profile("distsvm", deadline=None, max_examples=35)
settings.load_profile("distsvm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "DISTSVM_DRILLS" not in os.environ:
        for item in items:
            if item.get_closest_marker("drill"):
                item.add_marker(pytest.mark.skip(reason="a drill: set DISTSVM_DRILLS=1"))


@pytest.fixture(scope="session")
def ray_session() -> Iterator[Any]:
    """One local Ray for the whole run: starting it takes seconds."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    try:
        with pytest.MonkeyPatch.context() as patch:
            # unlike multiprocessing, Ray does not hand on sys.path: workers import test modules too
            patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
            ray.init(
                address="local",
                num_cpus=4,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
            )
        yield ray
    finally:
        ray.shutdown()
