"""Calls as requests to workers, and the requests that make objects again."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from distsvm.executors.base import Call
from distsvm.executors.host import Reply
from distsvm.executors.transport import Request


def request_of(call: Call, positions: Sequence[int]) -> Request:
    """Return the request to a worker that has the shards at these positions."""
    shards = [call.shards[i] for i in positions]
    each = [call.each[i] for i in positions] if call.each else None
    return Request("call", call.args, (call.method, shards, each, call.groups))


def positions_of(call: Call, shards: Container[int]) -> list[int]:
    """Return the positions of these shards, the lowest shard first.

    A worker stops at its first error, which is then that of the lowest shard.
    """
    found = [i for i, shard in enumerate(call.shards) if shard in shards]
    return sorted(found, key=lambda i: call.shards[i])


@dataclass
class Peers:
    """The number of workers with the same call, and the times of those that have answered."""

    n_asked: int = 1
    took_s: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Errand:
    """A queue of requests to one worker; the last is the caller's, the others prepare objects.

    If the worker is lost, errands of other workers succeed this one.
    """

    steps: deque[Request]
    request: Request | None = None
    call: Call | None = None
    positions: Sequence[int] = ()
    peers: Peers = field(default_factory=Peers)
    reply: Reply | None = None
    successors: list[Errand] | None = None

    @property
    def finished(self) -> bool:
        return all(errand.reply is not None for errand in self.ends())

    def ends(self) -> Iterable[Errand]:
        """Yield the errands with the replies: this one, or its successors."""
        if self.successors is None:
            yield self
            return
        for errand in self.successors:
            yield from errand.ends()


def values(errands: Iterable[Errand]) -> list[tuple[Errand, Any]]:
    """Return the replies of errands that have a request, or raise the lowest shard's error."""
    replies = [(errand, errand.reply) for errand in errands if errand.reply is not None]
    failures = [reply.failure for _, reply in replies if reply.failure]
    if failures:
        min(failures, key=lambda failure: -1 if failure.shard is None else failure.shard).throw()
    return [(errand, reply.value) for errand, reply in replies if errand.request is not None]


class Recipe:
    """The steps that make a shard's object again: its builder, calls of `prepare`, a recall.

    Parameters
    ----------
    builders : a handle for each shard
    """

    def __init__(self, builders: Sequence[Any] = ()) -> None:
        self.builders = builders
        self.prepared: list[Call] = []
        self.recalled: Call | None = None

    def steps(
        self, shards: Sequence[int], kept: Sequence[int] = (), errands: Iterable[Errand] = ()
    ) -> list[Request]:
        """Return requests that make these shards' objects on a worker with the objects of `kept`.

        Calls that the `errands` make anyway are left out.
        """
        if not self.builders:
            return []
        handle = tuple(self.builders[shard] for shard in shards)
        steps = [Request("build", handle, (tuple(shards), tuple(kept)))]
        later = {(id(errand.call), i) for errand in errands for i in errand.positions}
        for call in (*self.prepared, *filter(None, [self.recalled])):
            positions = [i for i in positions_of(call, shards) if (id(call), i) not in later]
            if positions:
                steps.append(request_of(call, positions))
        return steps
