"""What the remote executors need of whatever carries their requests to worker processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from distsvm.executors.host import Reply

LARGE = 64 * 1024  # bytes from which arrays are worth a way of their own


@dataclass(frozen=True, eq=False)
class Request:
    """A verb of the host, a handle of what all workers share, and this worker's own part."""

    verb: str
    shared: Any
    own: tuple[Any, ...]


@dataclass(frozen=True)
class Gone:
    """Instead of a reply: the worker is dead, or counts as dead."""

    reason: str


class Transport(ABC):
    """Starts worker processes, each with a Host, and carries one request at a time to each."""

    @abstractmethod
    def launch(self, workers: Sequence[int]) -> None:
        """Start these workers, empty, and end what may be left of earlier ones by that number.

        Raises PlacementError, and leaves none of them behind, if there is no room for them.
        """

    @abstractmethod
    def share(self, args: tuple[Any, ...]) -> AbstractContextManager[Any]:
        """A handle for requests that end before the context does."""

    @abstractmethod
    def keep(self, args: tuple[Any, ...]) -> Any:
        """A handle that can be sent again at any time, to a worker that was built again."""

    @abstractmethod
    def send(self, worker: int, request: Request) -> None:
        """Begin a request; a worker that turns out to be dead is reported by `receive`."""

    @abstractmethod
    def receive(self, workers: Sequence[int]) -> list[tuple[int, Reply | Gone]]:
        """Wait until some of these workers, which all have a request, have answered or died."""

    @abstractmethod
    def close(self) -> None:
        """End all workers and give back what they held; calling it twice does no harm."""
