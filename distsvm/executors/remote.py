"""What is common to workers in other processes: asking them, and building lost ones again."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distsvm.errors import WorkerLost
from distsvm.executors.assignment import shared_out
from distsvm.executors.base import Activity, Executor, checked_costs
from distsvm.executors.failures import Decision, FailurePolicy, Loss
from distsvm.executors.host import Failure, Reply
from distsvm.executors.transport import Gone, Request, Transport
from distsvm.executors.tree import Sum

logger = logging.getLogger(__name__)


@dataclass
class _Worker:
    shards: tuple[int, ...] = ()
    build: Request | None = None
    prepared: list[Request] = field(default_factory=list)
    busy_s: float = 0.0
    n_losses: int = 0
    n_restarts: int = 0


@dataclass
class _Job:
    """A request under way; `steps` are what has to be sent until it is answered."""

    worker: int
    request: Request
    steps: deque[Request]
    reply: Reply | None = None


class RemoteExecutor(Executor):
    """Hosts consecutive runs of shards in worker processes and outlives the loss of some.

    A job is what one worker does for one request. Jobs are moved on by `_advance` alone, whoever
    waits: so a `map` may be left half-way, and calls may be made in between, without any reply
    being taken for another.
    """

    def __init__(self, transport: Transport, n_workers: int, policy: FailurePolicy) -> None:
        self.n_workers = n_workers
        self._transport = transport
        self._policy = policy
        self._workers: list[_Worker] = []
        self._host_of: list[int] = []
        self._jobs: dict[int, _Job] = {}

    def start(
        self,
        builders: Sequence[Callable[[], Any]],
        costs: Sequence[float] | None = None,
        groups: Sequence[range] | None = None,
    ) -> None:
        costs = checked_costs(costs, len(builders))
        runs = shared_out(costs, groups or [range(len(builders))], self.n_workers)
        self._launch(len(runs))
        hosts = {shard: number for number, shards in enumerate(runs) for shard in shards}
        self._host_of = [hosts[shard] for shard in range(len(builders))]
        requests = {}
        for number, worker in enumerate(self._workers):  # some may be left from an earlier start
            worker.shards = runs[number] if number < len(runs) else ()
            handle = self._transport.keep(tuple(builders[shard] for shard in worker.shards))
            worker.build = requests[number] = Request("build", handle, (worker.shards,))
            worker.prepared = []
        self._ask(requests)

    def run(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        with self._transport.share(_contiguous(args)) as handle:
            positions, requests = self._calls(method, handle, shards, each)
            return _in_order(positions, self._ask(requests))

    def prepare(
        self,
        method: str,
        *args: Any,
        shards: Sequence[int] | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        handle = self._transport.keep(_contiguous(args))
        positions, requests = self._calls(method, handle, shards, each)
        results = _in_order(positions, self._ask(requests))
        for number, request in requests.items():
            self._workers[number].prepared.append(request)
        return results

    def reduce(self, method: str, *args: Any, groups: Sequence[range]) -> list[Any]:
        sums = [Sum(len(group)) for group in groups]
        with self._transport.share(_contiguous(args)) as handle:
            requests = {}
            for number, worker in enumerate(self._workers):
                own = [s for s in worker.shards if any(s in group for group in groups)]
                if own:
                    requests[number] = Request("call", handle, (method, own, None, groups))
            for nodes in self._ask(requests).values():
                for total, found in zip(sums, nodes, strict=True):
                    total.add(found)
        return [total.total() for total in sums]

    def map(self, function: Callable[..., Any], items: Iterable[Any], *args: Any) -> Iterator[Any]:
        self._launch(self.n_workers)
        jobs: deque[_Job] = deque()
        with self._transport.share((function, *_contiguous(args))) as handle:
            for item in items:
                jobs.append(self._begin(self._idle(), Request("apply", handle, (item,))))
                while jobs and (jobs[0].reply or len(jobs) >= 2 * self.n_workers):
                    yield self._value(jobs.popleft())
            while jobs:
                yield self._value(jobs.popleft())

    def activity(self) -> list[Activity]:
        return [
            Activity(number, worker.shards, worker.busy_s, worker.n_restarts)
            for number, worker in enumerate(self._workers)
        ]

    def close(self) -> None:
        self._transport.close()
        self._workers, self._host_of, self._jobs = [], [], {}

    def _launch(self, n_workers: int) -> None:
        missing = range(len(self._workers), n_workers)
        if missing:
            self._transport.launch(missing)
            self._workers += [_Worker() for _ in missing]

    def _calls(
        self,
        method: str,
        handle: Any,
        shards: Sequence[int] | None,
        each: Sequence[tuple[Any, ...]] | None,
    ) -> tuple[dict[int, list[int]], dict[int, Request]]:
        """For every worker that is concerned: which of the results it gives, and its request."""
        chosen = range(len(self._host_of)) if shards is None else shards
        positions: dict[int, list[int]] = {}
        # lowest shard first: a worker stops at its first error, and the lowest one is raised
        for i in sorted(range(len(chosen)), key=lambda i: chosen[i]):
            positions.setdefault(self._host_of[chosen[i]], []).append(i)
        requests = {
            number: Request(
                "call",
                handle,
                (method, [chosen[i] for i in mine], [each[i] for i in mine] if each else None),
            )
            for number, mine in positions.items()
        }
        return positions, requests

    def _ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        """The value of each worker's reply, or the error of the lowest shard."""
        jobs = [self._begin(number, request) for number, request in requests.items()]
        while any(job.reply is None for job in jobs):
            self._advance()
        failures = [job.reply.failure for job in jobs if job.reply and job.reply.failure]
        if failures:
            min(failures, key=_shard).throw()
        return {job.worker: self._value(job) for job in jobs}

    def _value(self, job: _Job) -> Any:
        while job.reply is None:
            self._advance()
        if job.reply.failure:
            job.reply.failure.throw()
        return job.reply.value

    def _idle(self) -> int:
        while len(self._jobs) == len(self._workers):
            self._advance()
        return next(number for number in range(len(self._workers)) if number not in self._jobs)

    def _begin(self, number: int, request: Request) -> _Job:
        while number in self._jobs:  # an interrupted call, or a map in between
            self._advance()
        job = self._jobs[number] = _Job(number, request, deque([request]))
        try:
            self._transport.send(number, request)
        except Exception:  # it was not sent; after an interrupt nobody knows, and the job stays
            del self._jobs[number]
            raise
        return job

    def _advance(self) -> None:
        """Wait for at least one worker, and move its job on."""
        lost = {}
        for number, answer in self._transport.receive(list(self._jobs)):
            job = self._jobs[number]
            if isinstance(answer, Gone):
                lost[number] = answer.reason
                continue
            self._workers[number].busy_s += answer.busy_s
            job.steps.popleft()
            if job.steps and not answer.failure:
                self._transport.send(number, job.steps[0])
            else:
                job.reply = answer
                del self._jobs[number]
        if lost:
            self._rebuild(lost)

    def _rebuild(self, lost: Mapping[int, str]) -> None:
        """Start lost workers again and have them do all over what led to their present job."""
        for number, reason in lost.items():
            worker = self._workers[number]
            worker.n_losses += 1
            shards, n_losses = worker.shards, worker.n_losses
            loss = Loss(number, shards, n_losses, reason)
            if self._policy.decide(loss) is Decision.GIVE_UP:
                del self._jobs[number]
                raise WorkerLost(
                    f"worker {number} (shards {_span(shards)}) was lost {n_losses} times in "
                    f"this run, and max_failures is {self._policy.max_failures}; last: {reason}"
                )
            logger.warning(
                "worker %d (shards %s) was lost: %s; building it again",
                number,
                _span(shards),
                reason,
            )
        self._transport.launch(list(lost))
        for number in lost:
            worker, job = self._workers[number], self._jobs[number]
            worker.n_restarts += 1
            history = [worker.build, *worker.prepared]
            job.steps = deque(r for r in history if r is not None and r is not job.request)
            job.steps.append(job.request)
            self._transport.send(number, job.steps[0])


def _contiguous(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's pickles take other arrays in as a copy, which is large and arrives writable."""
    return tuple(
        arg.copy() if isinstance(arg, np.ndarray) and not arg.flags.forc else arg for arg in args
    )


def _in_order(positions: Mapping[int, list[int]], values: Mapping[int, Any]) -> list[Any]:
    """The workers' lists of results put where they belong."""
    placed = {
        i: result
        for number, mine in positions.items()
        for i, result in zip(mine, values[number], strict=True)
    }
    return [placed[i] for i in range(len(placed))]


def _shard(failure: Failure) -> int:
    return -1 if failure.shard is None else failure.shard


def _span(shards: Sequence[int]) -> str:
    if not shards:
        return "none"
    return f"{shards[0]}–{shards[-1]}" if len(shards) > 1 else str(shards[0])
