"""Workers that stop, hang or die in the middle of a message, with the other half still to come."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from distsvm.executors.processes import ProcessesExecutor
from distsvm.executors.serial import SerialExecutor

N = 1_000_000
BUILT_AGAIN, MOVED = [(0, 1), (2, 3)], [(0, 1, 2, 3), ()]
FAULTS = {
    "stop": ("no sign of life for", MOVED),
    "hang": ("no answer after", MOVED),
    "kill": ("ended by signal 9", BUILT_AGAIN),
}
pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs waitid")


def fail(how: str) -> None:
    if how == "hang":  # the process lives, and says so
        threading.Event().wait()
    os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)


def fail_half_way(verb: str, how: str) -> None:
    """The next message that this process reads or writes stops within its largest part."""
    whole = getattr(os, verb)

    def half(pipe: int, parts: list[memoryview]) -> int:
        if max(part.nbytes for part in parts) < N:
            return whole(pipe, parts)
        *small, large = parts
        n_bytes = whole(pipe, [*small, large[: N // 2]])
        assert n_bytes > sum(part.nbytes for part in small)
        fail(how)
        raise AssertionError("it goes on")

    setattr(os, verb, half)


class Wide:
    """A shard's object with large answers, which can be told to fail half-way in a message."""

    def __init__(self, shard: int, data: np.ndarray | None = None) -> None:
        self.shard, self.data = shard, np.zeros(N) if data is None else data
        self.total = 0.0

    def pid(self) -> int:
        return os.getpid()

    def vector(self, marker: Path | None, how: str) -> np.ndarray:
        if self.shard == 2 and marker is not None and not marker.exists():
            marker.touch()
            fail_half_way("writev", how)
        return np.sin(np.arange(N) * (self.shard + 1)) * 10.0 ** (3 * self.shard)

    def fail_reading(self, how: str) -> None:
        if self.shard == 2:
            fail_half_way("readv", how)

    def add(self, part: np.ndarray) -> float:
        self.total += float(part.sum()) + float(self.data.sum())
        return self.total


def started(**limits: float) -> ProcessesExecutor:
    executor = ProcessesExecutor(2, worker_timeout_s=3.0, **limits)
    executor.start([partial(Wide, shard) for shard in range(4)])
    return executor


def hosted(executor: ProcessesExecutor) -> list[tuple[int, ...]]:
    return [each.shards for each in executor.activity()]


def parts() -> list[tuple[np.ndarray]]:
    return [(np.full(N, float(shard)),) for shard in range(4)]


TOTALS = [float(N * shard) for shard in range(4)]


@pytest.mark.parametrize("how", FAULTS)
def test_a_worker_that_fails_half_way_in_its_answer_is_replaced_with_the_same_bits(how, tmp_path):
    serial = SerialExecutor()
    serial.start([partial(Wide, shard) for shard in range(4)])
    [expected] = serial.reduce("vector", None, how, groups=[range(4)])
    with started() as executor:
        [found] = executor.reduce("vector", tmp_path / "failed", how, groups=[range(4)])
        assert found.tobytes() == expected.tobytes()
        told, shards = FAULTS[how]
        [note] = executor.notes()
        assert told in note
        assert hosted(executor) == shards


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("method", ["run", "prepare"])
def test_a_worker_that_fails_half_way_in_its_request_is_replaced(method, how):
    with started() as executor:
        executor.run("fail_reading", how)
        assert getattr(executor, method)("add", each=parts()) == TOTALS
        told, shards = FAULTS[how]
        assert any(told in note for note in executor.notes())
        assert hosted(executor) == shards


def test_a_worker_that_does_not_read_at_all_is_replaced():
    with started() as executor:
        worker = executor.run("pid")[2]
        os.kill(worker, signal.SIGSTOP)
        os.waitid(os.P_PID, worker, os.WSTOPPED)
        assert executor.prepare("add", each=parts()) == TOTALS
        [note] = executor.notes()
        assert "no sign of life for" in note
        assert hosted(executor) == MOVED


def test_a_worker_that_was_dead_before_a_large_request_is_built_again():
    with started() as executor:
        worker = executor.run("pid")[2]
        os.kill(worker, signal.SIGKILL)
        os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
        assert executor.prepare("add", each=parts()) == TOTALS
        assert hosted(executor) == BUILT_AGAIN


def test_large_builders_travel_side_by_side_to_workers_that_are_still_starting():
    data = [np.full(N, float(shard)) for shard in range(4)]
    with ProcessesExecutor(2) as executor:
        executor.start([partial(Wide, shard, data[shard]) for shard in range(4)])
        assert executor.run("add", np.zeros(1)) == TOTALS


def test_an_interrupt_between_two_parts_of_a_message_does_no_harm(monkeypatch):
    """The driver is interrupted while it waits for the second half of an answer."""
    with started() as executor:
        transport = executor._transport
        proceed, seen = transport._proceed, []

        def interrupted(child, ended):
            answer = proceed(child, ended)
            if answer is None and not seen:
                seen.append(child)
                raise KeyboardInterrupt
            return answer

        monkeypatch.setattr(transport, "_proceed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executor.run("vector", None, "")
        assert [vector[0] for vector in executor.run("vector", None, "")] == [0.0] * 4
        assert not executor.notes()
