"""The training service: run folders over HTTP, and models that answer.

A run's folder stays the truth. The service reads it, starts processes that write it, and keeps
only the queue of runs that wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsvm.service.client import Client, Event, ServiceError

__all__ = ["Client", "Event", "ServiceError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from distsvm.service import client

    return getattr(client, name)
