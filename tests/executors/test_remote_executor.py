"""The remote executor where no worker is lost: maps, starts, activity."""

from __future__ import annotations

import pytest
from hosted import refuse, times
from scripted import Builder, ScriptedTransport, started

from distsvm.executors.host import Reply
from distsvm.executors.recovery import Limits
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.transport import Request


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
