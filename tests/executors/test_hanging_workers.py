"""Workers that do not answer, by the driver's own clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scripted import ScriptedTransport, hosted, restarts, started

from distsvm.executors import crew
from distsvm.executors.host import Reply
from distsvm.executors.remote import RemoteExecutor


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
