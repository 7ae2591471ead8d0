"""Hosts in this process and deaths by script, for tests of what becomes of lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from hosted import Hosted

from distsvm.executors.host import Host, Reply
from distsvm.executors.recovery import Kind, Limits
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.serial import SerialExecutor
from distsvm.executors.transport import Gone, Request, Transport

W = np.linspace(0.0, 1.0, 5)


class ScriptedTransport(Transport):
    """Hosts in this process; the n-th request to a worker finds it dead if the script says so."""

    def __init__(self, deaths: set[tuple[int, int]] = frozenset()) -> None:
        self.deaths = deaths
        self.log: list[tuple[Any, ...]] = []
        self.launches: list[list[int]] = []
        self.hosts: dict[int, Host] = {}
        self.answers: dict[int, Reply | Gone] = {}
        self.n_requests: dict[int, int] = {}
        self.kind = Kind.DIED
        self.unplaced: set[int] = set()
        self.hangs: set[tuple[int, int]] = set()
        self.silent = False
        self.clock_s = 0.0
        self.late: list[tuple[int, Reply]] = []
        self.n_free = 0
        self.invited: list[int] = []
        self.ended: list[int] = []
        self.closed = False

    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        self.launches.append(list(workers))
        self.hosts.update({worker: Host() for worker in workers if worker not in self.unplaced})
        return {worker: "no room" for worker in workers if worker in self.unplaced}

    def end(self, workers: Sequence[int]) -> None:
        self.ended += workers
        for worker in workers:
            self.hosts.pop(worker, None)
            self.answers.pop(worker, None)

    @contextmanager
    def share(self, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield args

    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args

    def send(self, worker: int, request: Request) -> None:
        assert worker not in self.answers, "one request at a time"
        self.n_requests[worker] = n = self.n_requests.get(worker, 0) + 1
        name = request.own[0] if request.verb == "call" else request.verb
        self.log.append((worker, name))
        if (worker, n) in self.deaths or worker not in self.hosts:
            self.hosts.pop(worker, None)
            self.answers[worker] = Gone(f"death {n}", self.kind)
        elif (worker, n) not in self.hangs:
            self.answers[worker] = self.hosts[worker].answer(
                request.verb, request.shared, request.own, request.ticket
            )

    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        assert workers
        late, self.late = self.late, []
        if late:
            return late
        ready = [worker for worker in sorted(workers, reverse=True) if worker in self.answers]
        assert ready or self.hangs, "nobody has anything to do"
        self.clock_s += 0.0 if ready else 0.5
        return [(worker, self.answers.pop(worker)) for worker in ready]

    def alive(self, workers: Sequence[int]) -> Sequence[int]:
        return [] if self.silent else workers

    def room(self) -> int:
        return self.n_free

    def invite(self, workers: Sequence[int]) -> None:
        self.invited += workers
        self.hosts.update({worker: Host() for worker in workers})

    def arrived(self) -> list[int]:
        invited, self.invited = self.invited, []
        return invited

    def close(self) -> None:
        self.closed = True


class Builder:
    def __init__(self, shard: int) -> None:
        self.shard = shard

    def __call__(self) -> Hosted:
        return Hosted(self.shard)


def started(
    *deaths: tuple[int, int], max_failures: int = 3, n_shards: int = 4, n_workers: int = 2,
    kind: Kind = Kind.DIED, **options: Any,
) -> tuple[RemoteExecutor, ScriptedTransport]:  # fmt: skip
    transport = ScriptedTransport(set(deaths))
    transport.kind = kind
    limits = Limits(max_failures, **options)
    executor = RemoteExecutor(transport, n_workers, limits)
    executor.start([Builder(shard) for shard in range(n_shards)])
    return executor, transport


def reference(n_shards: int, *scales: float) -> SerialExecutor:
    executor = SerialExecutor()
    executor.start([Builder(shard) for shard in range(n_shards)])
    for scale in scales:
        executor.prepare("set_scale", scale)
    return executor


def calls(transport: ScriptedTransport, worker: int) -> list[str]:
    return [name for number, name in transport.log if number == worker]


def restarts(executor: RemoteExecutor) -> list[int]:
    return [each.n_restarts for each in executor.activity()]


def hosted(executor: RemoteExecutor) -> list[tuple[int, ...]]:
    return [each.shards for each in executor.activity()]
