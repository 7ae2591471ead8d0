"""Recovery, with hosts in this process and deaths by script."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hosted import Hosted, refuse, times
from threadpoolctl import threadpool_limits

from distsvm.errors import DataError, TaskError, WorkerLost
from distsvm.executors.host import Host, Reply
from distsvm.executors.recovery import Limits
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
        self.unplaced: set[int] = set()
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
            self.answers[worker] = Gone(f"death {n}")
        else:
            self.answers[worker] = self.hosts[worker].answer(
                request.verb, request.shared, request.own, request.ticket
            )

    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        assert workers
        assert set(workers) <= set(self.answers)
        return [(worker, self.answers.pop(worker)) for worker in sorted(workers, reverse=True)]

    def alive(self, workers: Sequence[int]) -> Sequence[int]:
        return workers

    def close(self) -> None:
        self.closed = True


class Builder:
    def __init__(self, shard: int) -> None:
        self.shard = shard

    def __call__(self) -> Hosted:
        return Hosted(self.shard)


@pytest.fixture(autouse=True)
def _blas_threads_as_before():
    with threadpool_limits(1):  # hosts limit them for good
        yield


def started(
    *deaths: tuple[int, int], max_failures: int = 3, n_shards: int = 4, n_workers: int = 2
) -> tuple[RemoteExecutor, ScriptedTransport]:
    transport = ScriptedTransport(set(deaths))
    executor = RemoteExecutor(transport, n_workers, Limits(max_failures))
    executor.start([Builder(shard) for shard in range(n_shards)])
    return executor, transport


def calls(transport: ScriptedTransport, worker: int) -> list[str]:
    return [name for number, name in transport.log if number == worker]


def restarts(executor: RemoteExecutor) -> list[int]:
    return [each.n_restarts for each in executor.activity()]


def test_a_worker_lost_in_a_run_is_built_again_and_alone_asked_again(caplog):
    executor, transport = started((1, 2))
    with caplog.at_level(logging.WARNING):
        assert executor.run("number") == [0, 1, 2, 3]
    assert calls(transport, 0) == ["build", "number"]
    assert calls(transport, 1) == ["build", "number", "build", "number"]
    assert restarts(executor) == [0, 1]
    assert "worker 1 (shards 2–3) was lost: death 2" in caplog.text


def test_a_worker_lost_in_a_reduce_gives_the_same_bits():
    executor, _ = started((0, 2), n_shards=7, n_workers=3)
    reference = SerialExecutor()
    reference.start([Builder(shard) for shard in range(7)])
    groups = [range(0, 5), range(5, 7)]
    found = executor.reduce("vector", W, groups=groups)
    for mine, right in zip(found, reference.reduce("vector", W, groups=groups), strict=True):
        assert mine.tobytes() == right.tobytes()
    assert restarts(executor) == [1, 0, 0]


def test_prepared_calls_are_repeated_in_order_on_the_new_worker():
    executor, transport = started((0, 4))
    executor.prepare("set_scale", 5.0)
    executor.prepare("set_scale", 2.0, shards=[1, 0], each=[(0.5,), (0.25,)])
    before = executor.run("counted")
    assert before == [2.25, 4.5, 15.0, 20.0]
    assert calls(transport, 0)[3:] == ["counted", "build", "set_scale", "set_scale", "counted"]
    assert calls(transport, 1) == ["build", "set_scale", "counted"]


def test_a_worker_lost_in_prepare_is_prepared_once_and_again_only_when_lost_again():
    executor, transport = started((1, 2), (1, 5))
    assert executor.prepare("set_scale", 2.0) == [2.0, 4.0, 6.0, 8.0]
    assert calls(transport, 1) == ["build", "set_scale", "build", "set_scale"]
    assert executor.run("counted") == [2.0, 4.0, 6.0, 8.0]
    assert calls(transport, 1)[4:] == ["counted", "build", "set_scale", "counted"]


def test_a_worker_lost_while_it_is_built_or_built_again_counts_the_same():
    executor, transport = started((0, 1), (0, 3), (0, 4))
    executor.run("number")
    assert calls(transport, 0) == ["build", "build", "number", "build", "build", "number"]
    assert restarts(executor) == [3, 0]


def test_two_workers_lost_in_one_call_are_built_again_together():
    executor, transport = started((0, 2), (1, 2), n_shards=6, n_workers=3)
    assert executor.run("number") == list(range(6))
    assert sorted(transport.launches[-1]) == [0, 1]
    assert calls(transport, 2) == ["build", "number"]
    assert restarts(executor) == [1, 1, 0]


def test_too_many_losses_raise_worker_lost_with_worker_shards_and_reason():
    executor, _ = started((1, 2), (1, 4), max_failures=1)
    with pytest.raises(
        WorkerLost, match=r"worker 1 \(shards 2–3\).* 2 times.*max_failures is 1.*death 4"
    ):
        executor.run("number")
    with pytest.raises(WorkerLost):  # and it stays so, rather than hang
        executor.run("number")


def test_losing_many_workers_once_is_not_losing_one_too_often():
    executor, _ = started(*((i, 2) for i in range(5)), max_failures=1, n_shards=6, n_workers=6)
    assert executor.run("number") == list(range(6))
    assert restarts(executor) == [1, 1, 1, 1, 1, 0]


def test_nothing_is_built_again_when_no_failure_is_allowed():
    executor, transport = started((0, 2), max_failures=0)
    with pytest.raises(WorkerLost):
        executor.run("number")
    assert transport.launches == [[0, 1]]


def test_errors_of_the_objects_are_raised_and_never_tried_again():
    executor, transport = started()
    with pytest.raises(TaskError, match="shard 1: ValueError: bad value"):
        executor.run("fail", "value", (1, 2))
    with pytest.raises(DataError, match="shard 3: bad line"):
        executor.prepare("fail", "data", (3,))
    assert calls(transport, 0) == calls(transport, 1) == ["build", "fail", "fail"]
    assert restarts(executor) == [0, 0]
    assert executor.run("number") == [0, 1, 2, 3]


def test_a_failed_prepare_is_not_repeated():
    executor, transport = started((0, 3))
    with pytest.raises(DataError):
        executor.prepare("fail", "data", (3,))
    executor.run("number")
    assert calls(transport, 0)[2:] == ["number", "build", "number"]


def test_an_error_beside_a_loss_is_the_one_that_is_raised():
    executor, _ = started((0, 2))
    with pytest.raises(DataError, match="shard 2"):
        executor.run("fail", "data", (2,))
    assert restarts(executor) == [1, 0]


def test_map_asks_again_what_a_lost_worker_had():
    executor, transport = started((1, 3))
    assert list(executor.map(times, range(9), 2)) == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert restarts(executor) == [0, 1]
    assert calls(transport, 0).count("apply") + calls(transport, 1).count("apply") == 10


def test_map_works_before_start_and_between_calls():
    transport = ScriptedTransport()
    executor = RemoteExecutor(transport, 2, Limits())
    mapped = executor.map(times, range(7), 3)
    assert next(mapped) == 0
    executor.start([Builder(shard) for shard in range(3)])
    assert next(mapped) == 3
    assert executor.run("number") == [0, 1, 2]
    assert list(mapped) == [6, 9, 12, 15, 18]
    assert transport.launches == [[0, 1]]


def test_a_map_given_up_half_way_disturbs_no_later_call():
    executor, _ = started()
    mapped = executor.map(times, range(100), 1)
    next(mapped)
    mapped.close()
    assert executor.run("number") == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="not 3"):
        list(executor.map(refuse, range(9)))
    assert executor.run("number") == [0, 1, 2, 3]


def test_map_has_few_items_under_way():
    executor, _ = started()
    drawn = []
    mapped = executor.map(times, (drawn.append(i) or i for i in range(100)), 1)
    for i in range(20):
        next(mapped)
        assert len(drawn) <= i + 4


def test_a_second_start_replaces_all_objects():
    executor, _ = started()
    executor.prepare("set_scale", 2.0)
    executor.start([Builder(shard) for shard in range(1)])
    assert executor.run("counted") == [1.0]
    assert [each.shards for each in executor.activity()] == [(0,), ()]


def test_activity_adds_up_the_busy_seconds_of_all_replies():
    executor, transport = started((1, 3), n_workers=3)
    seconds = iter([1.0, 2.0, 4.0])

    def slow(worker: int, request: Request) -> None:
        ScriptedTransport.send(transport, worker, request)
        if worker == 1 and isinstance(transport.answers[1], Reply):
            transport.answers[1] = Reply(transport.answers[1].value, next(seconds))

    transport.send = slow
    before = executor.activity()
    executor.run("number")
    executor.run("number")  # lost, built again (2 s) and answered (4 s)
    after = executor.activity()
    assert after[1].busy_s - before[1].busy_s == pytest.approx(7.0)
    assert after[1].n_restarts == 1
    assert [each.shards for each in after] == [(0,), (1, 2), (3,)]


def test_never_more_workers_than_shards():
    executor, transport = started(n_shards=2, n_workers=5)
    assert transport.launches == [[0, 1]]
    assert len(executor.activity()) == 2
    executor.close()
    assert transport.closed
