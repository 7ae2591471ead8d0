"""The contract of what carries requests of remote executors to worker processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from distsvm.executors.host import Reply, Ticket
from distsvm.executors.recovery import Kind

LARGE = 64 * 1024  # bytes from which arrays are worth a way of their own


@dataclass(frozen=True, eq=False)
class Request:
    """A verb of the host, a handle of what all workers share, and this worker's own part."""

    verb: str
    shared: Any
    own: tuple[Any, ...]
    ticket: Ticket | None = None

    @property
    def method(self) -> str:
        """What takes its time: the method of a call, or the verb itself."""
        return self.own[0] if self.verb == "call" else self.verb


@dataclass(frozen=True)
class Gone:
    """Instead of a reply: the worker is dead, or counts as dead."""

    reason: str
    kind: Kind = Kind.DIED


class Transport(ABC):
    """Starts worker processes, each with a Host, and carries one request at a time to each."""

    @abstractmethod
    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        """Start these workers, empty, and end what may be left of earlier ones by that number.

        Returns those for which there is no room within the time limit, with the reason; nothing
        is left of them.
        """

    @abstractmethod
    def end(self, workers: Sequence[int]) -> None:
        """End these workers at once, whatever they are at."""

    @abstractmethod
    def share(self, args: tuple[Any, ...]) -> AbstractContextManager[Any]:
        """A handle for requests that end before the context does."""

    @abstractmethod
    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A handle that can be sent again at any time, to a worker that was built again.

        Some of its parts are a handle of those arguments.
        """

    @abstractmethod
    def send(self, worker: int, request: Request) -> None:
        """Begin a request; a worker that turns out to be dead is reported by `receive`.

        Waits for no worker: what the request holds may be on its way until it is answered.
        """

    @abstractmethod
    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        """Wait until some of these workers, which all have a request, have answered or died.

        None, if the time limit passes first.
        """

    @abstractmethod
    def alive(self, workers: Sequence[int]) -> Collection[int]:
        """Those that have given a sign of life since they were last asked for one; waits for none.

        All of them are asked for the next.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers and give back what they held; calling it twice does no harm."""

    # --- workers that join later: none, unless a transport overrides these ------------------------

    def room(self) -> int:
        """The number of further workers that could be placed now, as far as is known."""
        return 0

    def invite(self, workers: Sequence[int]) -> None:
        """Start further workers without waiting for them."""
        raise NotImplementedError

    def arrived(self) -> list[int]:
        """Those of the invited that are there now."""
        return []
