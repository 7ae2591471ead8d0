"""Calls of shards' objects as requests to workers, and the way to make objects again."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from distsvm.executors.host import Reply
from distsvm.executors.transport import Request


@dataclass(frozen=True, eq=False)
class Call:
    """A method and its arguments, and the shards to call it on; position i is that of shards[i].

    With `groups` the answers are added up, as far as one worker can.
    """

    method: str
    handle: Any
    shards: Sequence[int]
    each: Sequence[tuple[Any, ...]] | None = None
    groups: Sequence[range] | None = None

    def request(self, positions: Sequence[int]) -> Request:
        """What to ask a worker that has the shards at these positions."""
        shards = [self.shards[i] for i in positions]
        each = [self.each[i] for i in positions] if self.each else None
        return Request("call", self.handle, (self.method, shards, each, self.groups))

    def positions(self, shards: Container[int]) -> list[int]:
        """Where these shards are, lowest first: a worker stops at its first error, the lowest's."""
        found = [i for i, shard in enumerate(self.shards) if shard in shards]
        return sorted(found, key=lambda i: self.shards[i])


@dataclass
class Peers:
    """How many workers were asked the same, and how long those took that have answered."""

    n_asked: int = 1
    took_s: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Job:
    """What one worker has to do: steps, the last of which is the request if there is one.

    A job whose worker was lost may be taken over by others.
    """

    steps: deque[Request]
    request: Request | None = None
    call: Call | None = None
    positions: Sequence[int] = ()
    peers: Peers = field(default_factory=Peers)
    reply: Reply | None = None
    successors: list[Job] | None = None

    @property
    def finished(self) -> bool:
        return all(job.reply is not None for job in self.ends())

    def ends(self) -> Iterable[Job]:
        """The jobs that answer for this one: itself, unless others have taken it over."""
        if self.successors is None:
            yield self
            return
        for job in self.successors:
            yield from job.ends()


def values(jobs: Iterable[Job]) -> list[tuple[Job, Any]]:
    """The replies of the jobs that have a request, or the error of the lowest shard."""
    replies = [(job, job.reply) for job in jobs if job.reply is not None]
    failures = [reply.failure for _, reply in replies if reply.failure]
    if failures:
        min(failures, key=lambda failure: -1 if failure.shard is None else failure.shard).throw()
    return [(job, reply.value) for job, reply in replies if job.request is not None]


class Recipe:
    """The way to make a shard's object again: its builder, the calls that prepared it, a recall.

    Parameters
    ----------
    builders : a handle for each shard
    """

    def __init__(self, builders: Sequence[Any] = ()) -> None:
        self.builders = builders
        self.prepared: list[Call] = []
        self.recalled: Call | None = None

    def steps(
        self, shards: Sequence[int], kept: Sequence[int] = (), jobs: Iterable[Job] = ()
    ) -> list[Request]:
        """Requests that make these shards' objects on a worker that has the objects of `kept`.

        What the `jobs` will ask for all the same is left out.
        """
        if not self.builders:
            return []
        handle = tuple(self.builders[shard] for shard in shards)
        steps = [Request("build", handle, (tuple(shards), tuple(kept)))]
        later = {(id(job.call), i) for job in jobs for i in job.positions}
        for call in (*self.prepared, *filter(None, [self.recalled])):
            positions = [i for i in call.positions(shards) if (id(call), i) not in later]
            if positions:
                steps.append(call.request(positions))
        return steps
