"""A lost worker is built again, prepared again and asked again, and nobody else is."""

from __future__ import annotations

import logging

import pytest
from hosted import times
from scripted import W, calls, reference, restarts, started

from distsvm.errors import DataError, TaskError, WorkerLost


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
    groups = [range(0, 5), range(5, 7)]
    found = executor.reduce("vector", W, groups=groups)
    for mine, right in zip(found, reference(7).reduce("vector", W, groups=groups), strict=True):
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
