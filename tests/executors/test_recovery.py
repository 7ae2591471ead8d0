"""Recovery, with hosts in this process and deaths by script."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hosted import Hosted, refuse, times
from threadpoolctl import threadpool_limits

from distsvm.errors import DataError, PlacementError, TaskError, WorkerLost
from distsvm.executors import crew, growth
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


@pytest.fixture(autouse=True)
def _blas_threads_as_before():
    with threadpool_limits(1):  # hosts limit them for good
        yield


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


# --- shards that move --------------------------------------------------------------------------


def reference(n_shards: int, *scales: float) -> SerialExecutor:
    executor = SerialExecutor()
    executor.start([Builder(shard) for shard in range(n_shards)])
    for scale in scales:
        executor.prepare("set_scale", scale)
    return executor


def hosted(executor: RemoteExecutor) -> list[tuple[int, ...]]:
    return [each.shards for each in executor.activity()]


@pytest.mark.parametrize("kind", [Kind.OUT_OF_MEMORY, Kind.SILENT, Kind.SLOW])
@pytest.mark.parametrize("n_before", [0, 2])
def test_shards_that_move_are_built_prepared_and_asked_elsewhere(kind, n_before, caplog):
    executor, transport = started((1, n_before + 2), n_shards=7, n_workers=3, kind=kind)
    for scale in range(n_before):
        executor.prepare("set_scale", 2.0 + scale)
    right = reference(7, *(2.0 + scale for scale in range(n_before)))
    groups = [range(5), range(5, 7)]
    with caplog.at_level(logging.WARNING):
        found = executor.reduce("vector", W, groups=groups)
    assert [v.tobytes() for v in found] == [
        v.tobytes() for v in right.reduce("vector", W, groups=groups)
    ]
    assert transport.ended == [1]
    assert hosted(executor)[1] == ()
    assert sorted(s for shards in hosted(executor) for s in shards) == list(range(7))
    assert executor.run("counted") == right.run("counted")
    assert executor.run("number", shards=[6, 2, 0]) == [6, 2, 0]
    assert "others take over" in caplog.text
    assert executor.notes()
    assert not executor.notes()


def test_shards_that_move_in_the_middle_of_a_prepare_are_prepared_once():
    executor, transport = started((0, 2), kind=Kind.SILENT)
    assert executor.prepare("set_scale", 3.0) == [3.0, 6.0, 9.0, 12.0]
    assert calls(transport, 1) == ["build", "set_scale", "build", "set_scale"]
    assert executor.run("counted") == [3.0, 6.0, 9.0, 12.0]


def test_a_worker_lost_while_it_takes_over_builds_everything_it_has():
    # worker 1 has answered the prepare, and dies when it builds the shards of worker 0
    executor, transport = started((0, 2), kind=Kind.SILENT)
    transport.deaths = {(0, 2), (1, 3)}
    transport.kind = Kind.SILENT
    executor.prepare("set_scale", 3.0)
    assert executor.run("counted") == [3.0, 6.0, 9.0, 12.0]
    assert hosted(executor) == [(), (2, 3, 0, 1)]


def test_shards_of_workers_lost_at_the_start_move_too():
    executor, _ = started((0, 1), (2, 1), n_shards=6, n_workers=3, kind=Kind.SLOW)
    assert executor.run("number") == list(range(6))
    assert [len(shards) for shards in hosted(executor)] == [0, 6, 0]


def test_a_map_goes_on_with_the_workers_that_are_left():
    executor, _ = started((1, 3), kind=Kind.SILENT)
    assert list(executor.map(times, range(9), 2)) == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert hosted(executor)[1] == ()


def test_a_place_that_is_not_found_again_moves_the_shards():
    executor, transport = started((1, 2))
    transport.unplaced = {1}
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    assert any("no room" in note for note in executor.notes())


def test_a_worker_built_again_takes_over_from_one_that_finds_no_place():
    executor, transport = started((0, 2), (1, 2))
    transport.unplaced = {1}
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    assert executor.prepare("set_scale", 3.0) == [3.0, 6.0, 9.0, 12.0]


def test_the_last_worker_without_a_place_ends_the_run_with_the_reason():
    executor, transport = started((0, 2), n_workers=1)
    transport.unplaced = {0}
    with pytest.raises(PlacementError, match="cannot be built again: no room"):
        executor.run("number")


def test_an_error_on_the_way_to_a_new_worker_is_raised():
    executor, transport = started((0, 2), kind=Kind.SILENT)
    transport.hosts[1].build = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        executor.run("number")


class Starved:
    def __init__(self, shard: int, full: set[int]) -> None:
        self.shard, self.full = shard, full

    def number(self) -> int:
        if self.shard in self.full:
            self.full.discard(self.shard)
            raise np._core._exceptions._ArrayMemoryError((10,), np.dtype(float))
        return self.shard


def test_a_memory_error_is_a_worker_out_of_memory_and_reported_with_its_size():
    transport, full = ScriptedTransport(), {2}
    executor = RemoteExecutor(transport, 2, Limits())
    executor.start([lambda shard=shard: Starved(shard, full) for shard in range(4)])
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    [note] = executor.notes()
    assert "worker 1 (shards 2–3) was lost: out of memory, with 2 shards and " in note
    assert "MB resident when it last answered: MemoryError: Unable to allocate" in note


# --- time --------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """The driver's clock is that of the transport: half a second whenever nobody answers."""

    def attach(executor: RemoteExecutor, transport: ScriptedTransport) -> None:
        monkeypatch.setattr(crew, "time", SimpleNamespace(monotonic=lambda: transport.clock_s))
        executor._crew._looked_s = 0.0

    return attach


@pytest.mark.parametrize("silent", [True, False])
def test_a_worker_that_hangs_is_replaced_by_the_others(silent, clock):
    executor, transport = started(worker_timeout_s=4.0)
    clock(executor, transport)
    transport.hangs, transport.silent = {(1, 2)}, silent
    assert executor.run("number") == [0, 1, 2, 3]
    assert hosted(executor) == [(0, 1, 2, 3), ()]
    [note] = executor.notes()
    assert ("no sign of life for 5.0 s" if silent else "no answer after 5.0 s") in note
    assert transport.clock_s < 8


@pytest.mark.parametrize(("n_before", "expected_s"), [(0, 300), (1, 40)])
def test_a_worker_that_hangs_alone_is_compared_with_what_was_before(n_before, expected_s, clock):
    executor, transport = started(n_workers=1, worker_timeout_s=4.0, call_timeout_s=300.0)
    clock(executor, transport)
    for _ in range(n_before):
        executor.run("number")
    transport.hangs = {(0, 2 + n_before)}
    assert executor.run("number") == [0, 1, 2, 3]
    assert expected_s < transport.clock_s < expected_s + 10
    assert restarts(executor) == [1]


def test_time_in_which_the_driver_did_not_look_does_not_count(clock):
    executor, transport = started(worker_timeout_s=4.0)
    clock(executor, transport)
    transport.hangs = {(1, 2)}
    receive, slept = transport.receive, iter([3600.0])

    def after_a_sleep(workers, timeout_s=None):
        transport.clock_s += next(slept, 0.0)
        return receive(workers, timeout_s)

    transport.receive = after_a_sleep
    executor.run("number")
    assert transport.clock_s - 3600 > 2


def test_answers_that_come_too_late_are_dropped():
    executor, transport = started()
    for worker in (0, 1):
        executor._crew.members[worker].ticket = (0, 5)
    transport.late = [(0, Reply([77, 77], ticket=(0, 5))), (1, Reply([88, 88], ticket=(1, 6)))]
    assert executor.run("number") == [0, 1, 2, 3]


# --- workers that join -------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(growth, "LOOK_EVERY_S", 0.0)


class Learning(Hosted):
    def learn(self, amount: int) -> int:
        self.learned = getattr(self, "learned", 0) + amount
        return self.learned

    def carry(self) -> int:
        return getattr(self, "learned", 0)

    def take_up(self, learned: int) -> None:
        self.learned = learned


def test_workers_that_join_take_over_shards_with_what_was_learned(at_once):
    transport = ScriptedTransport()
    executor = RemoteExecutor(transport, 1, Limits(), follows_room=True)
    executor.start([lambda shard=shard: Learning(shard) for shard in range(6)])
    executor.prepare("set_scale", 2.0)
    executor.run("learn", 5)
    transport.n_free = 2
    for _ in range(3):
        executor.adapt()
        transport.n_free = 0
    assert [len(shards) for shards in hosted(executor)] == [2, 2, 2]
    assert executor.run("learn", 1) == [6] * 6
    assert executor.run("counted") == reference(6, 2.0).run("counted")
    assert [len(host._objects) for host in transport.hosts.values()] == [2, 2, 2]
    assert any("joined and took over 4 shards; there are 3 now" in n for n in executor.notes())


def test_no_more_workers_join_than_were_asked_for(at_once):
    executor, transport = started((1, 2), kind=Kind.SILENT)
    transport.n_free = 9
    executor.run("number")
    for _ in range(4):
        executor.adapt()
    assert [len(shards) for shards in hosted(executor)] == [2, 0, 2]
    assert executor.run("number") == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [Kind.OUT_OF_MEMORY, Kind.SLOW])
def test_nobody_joins_in_place_of_a_worker_that_was_slow_or_starved(kind, at_once):
    executor, transport = started((1, 2), kind=kind)
    transport.n_free = 9
    executor.run("number")
    for _ in range(4):
        executor.adapt()
    assert not transport.invited
    assert len(hosted(executor)) == 2


def test_a_giver_that_dies_while_it_gives_loses_only_what_was_learned(at_once):
    transport = ScriptedTransport({(0, 3)})
    executor = RemoteExecutor(transport, 1, Limits(), follows_room=True)
    executor.start([lambda shard=shard: Learning(shard) for shard in range(4)])
    executor.run("learn", 5)
    transport.n_free = 1
    executor.adapt()
    executor.adapt()
    assert executor.run("number") == [0, 1, 2, 3]
    assert executor.run("learn", 1) == [1] * 4


def test_fewer_workers_than_asked_for_are_enough_if_that_is_allowed(caplog):
    transport = ScriptedTransport()
    transport.unplaced = {1, 2}
    executor = RemoteExecutor(transport, 4, Limits(), enough=2)
    executor.start([Builder(shard) for shard in range(4)])
    assert hosted(executor) == [(0, 1), (), (), (2, 3)]
    assert executor.run("number") == [0, 1, 2, 3]
    assert "the run goes on with 2 of the 4 workers asked for: no room" in executor.notes()[0]


@pytest.mark.parametrize("enough", [None, 3])
def test_too_few_workers_are_refused_and_ended(enough):
    transport = ScriptedTransport()
    transport.unplaced = {1, 2}
    executor = RemoteExecutor(transport, 4, Limits(), enough=enough)
    with pytest.raises(PlacementError, match="no room"):
        executor.start([Builder(shard) for shard in range(4)])
    assert transport.ended == [0, 3]


def test_what_is_recalled_comes_after_what_was_prepared_and_ends_with_the_next():
    executor, transport = started((0, 4), (0, 10))
    executor.prepare("set_scale", 2.0)
    executor.recall("combine", shards=range(4), each=[(shard,) for shard in range(4)])
    executor.run("number")
    executor.run("number")
    assert calls(transport, 0)[2:] == [
        "number",
        "number",
        "build",
        "set_scale",
        "combine",
        "number",
    ]
    executor.prepare("counted")
    executor.run("number")
    assert calls(transport, 0)[9:] == ["number", "build", "set_scale", "counted", "number"]
