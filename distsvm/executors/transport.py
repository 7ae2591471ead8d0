"""Transport: the contract of messages between a remote executor and its worker processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from distsvm.executors.host import Reply, Ticket
from distsvm.executors.recovery import Kind

LARGE = 64 * 1024  # bytes from which an array is sent apart from the pickle


@dataclass(frozen=True, eq=False)
class Request:
    """A verb of the host, a handle of the shared arguments, and this worker's own arguments."""

    verb: str
    shared: Any
    own: tuple[Any, ...]
    ticket: Ticket | None = None

    @property
    def method(self) -> str:
        """The name for times: the method of a call, or the verb."""
        return self.own[0] if self.verb == "call" else self.verb


@dataclass(frozen=True)
class Gone:
    """In place of a reply: the worker is dead, or counts as dead."""

    reason: str
    kind: Kind = Kind.DIED


class Transport(ABC):
    """Starts worker processes, each with a Host, and carries one request at a time to each."""

    @abstractmethod
    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        """Start these workers without objects; end processes of earlier workers of these numbers.

        Return the workers for which there is no room within the time limit, with the reason; they
        have no process.
        """

    @abstractmethod
    def end(self, workers: Sequence[int]) -> None:
        """End these workers at once, also in the middle of a call."""

    @abstractmethod
    def share(self, args: tuple[Any, ...]) -> AbstractContextManager[Any]:
        """Give a handle for requests that end before the context does."""

    @abstractmethod
    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a handle that can be sent again at any time, to a worker that was started again.

        A tuple of some of its items is a handle of those arguments.
        """

    @abstractmethod
    def send(self, worker: int, request: Request) -> None:
        """Begin a request; if the worker is dead, `receive` reports that.

        It waits for no worker, so the arguments must not change before the answer.
        """

    @abstractmethod
    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        """Wait until some of these workers, which all have a request, have answered or died.

        The list is empty if the time limit passes first.
        """

    @abstractmethod
    def alive(self, workers: Sequence[int]) -> Collection[int]:
        """Return the workers with a sign of life since the last call, without waiting.

        All of them get a request for the next sign.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers and release their resources; a second call has no effect."""

    # --- workers that join later: none, unless a transport overrides these ------------------------

    def room(self) -> int:
        """Return the number of further workers that find a place now, as far as is known."""
        return 0

    def invite(self, workers: Sequence[int]) -> None:
        """Start further workers without waiting for them."""
        raise NotImplementedError

    def arrived(self) -> list[int]:
        """Return the invited workers that have started."""
        return []
