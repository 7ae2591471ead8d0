"""What else may befall worker processes: at their start, all at once, and in what they send."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable
from functools import partial

import pytest
from hosted import Hosted

from distsvm.errors import PlacementError, TaskError, WorkerLost
from distsvm.executors import processes
from distsvm.executors.processes import ProcessesExecutor

pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs waitid")
NUMBERS = [0, 1, 2, 3]


class Shard(Hosted):
    def pid(self) -> int:
        return os.getpid()

    def unreadable(self) -> Unreadable:
        return Unreadable()


class Unreadable:
    """Can be pickled, and not be read again."""

    def __reduce__(self):
        return refuse, ()


def leave(*_: object) -> None:
    os._exit(7)


def refuse() -> None:
    raise LookupError("nobody knows what this is")


def started(n_workers: int = 2, **limits: float) -> ProcessesExecutor:
    executor = ProcessesExecutor(n_workers, **limits)
    executor.start([partial(Shard, number) for number in NUMBERS])
    return executor


def fell(pids: Iterable[int], sign: signal.Signals) -> None:
    """Send all of them the signal, and wait until it has had its effect."""
    event = os.WSTOPPED if sign is signal.SIGSTOP else os.WEXITED | os.WNOWAIT
    pids = set(pids)
    for pid in pids:
        os.kill(pid, sign)
    for pid in pids:
        os.waitid(os.P_PID, pid, event)


def restarts(executor: ProcessesExecutor) -> list[int]:
    return [each.n_restarts for each in executor.activity()]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_all_workers_lost_at_once_are_built_again(sign):
    with started(worker_timeout_s=3.0) as executor:
        fell(executor.run("pid"), sign)
        assert executor.run("number") == NUMBERS
        assert restarts(executor) == [1, 1]


def test_two_of_three_workers_stopped_at_once_leave_their_shards_to_the_third():
    with started(3, worker_timeout_s=3.0) as executor:
        pids = executor.run("pid")
        fell(set(pids) - {pids[0]}, signal.SIGSTOP)
        assert executor.run("number") == NUMBERS
        assert sorted(len(each.shards) for each in executor.activity()) == [0, 0, 4]


def test_an_answer_that_cannot_be_read_is_an_error_of_the_task_and_the_next_is_read():
    with started() as executor:
        with pytest.raises(TaskError, match=r"answer cannot be read here: LookupError: nobody"):
            executor.run("unreadable")
        assert executor.run("number") == NUMBERS
        assert restarts(executor) == [0, 0]


@pytest.fixture
def scarce(monkeypatch):
    """From now on the system starts no process."""

    def refuse(worker: int, n_threads: int) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    return partial(monkeypatch.setattr, processes, "_spawn", refuse)


def test_shards_of_a_worker_that_cannot_be_started_again_go_to_the_others(scarce):
    with started() as executor:
        scarce()
        fell(executor.run("pid")[2:3], signal.SIGKILL)
        assert executor.run("number") == NUMBERS
        assert [each.shards for each in executor.activity()] == [(0, 1, 2, 3), ()]
        assert any("no more processes" in note for note in executor.notes())


def test_a_last_worker_that_cannot_be_started_again_ends_the_run_with_the_reason(scarce):
    with started(1) as executor:
        scarce()
        fell(executor.run("pid")[:1], signal.SIGKILL)
        with pytest.raises(PlacementError, match=r"cannot be started: .*no more processes"):
            executor.run("number")


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_that_stops_while_it_starts_is_missed(n_workers, monkeypatch):
    spawn, victims = processes._spawn, []

    def stopped(worker: int, n_threads: int) -> processes._Child:
        child = spawn(worker, n_threads)
        if not victims:
            victims.append(child.process.pid)
            fell(victims, signal.SIGSTOP)
        return child

    monkeypatch.setattr(processes, "_spawn", stopped)
    monkeypatch.setattr(processes, "_STARTING_S", 2.0)
    with started(n_workers, worker_timeout_s=3.0) as executor:
        assert executor.run("number") == NUMBERS
        assert any("no sign of life" in note for note in executor.notes())


def test_a_worker_that_is_killed_before_it_is_ready_is_given_up_in_the_end(monkeypatch):
    spawn = processes._spawn

    def killed(worker: int, n_threads: int) -> processes._Child:
        child = spawn(worker, n_threads)
        child.process.kill()
        return child

    monkeypatch.setattr(processes, "_spawn", killed)
    with pytest.raises(WorkerLost, match="ended by signal 9"), started(1, max_failures=2):
        pass


def test_an_interrupt_while_a_lost_worker_is_started_again_does_no_harm(monkeypatch):
    def interrupted(worker: int, n_threads: int) -> None:
        raise KeyboardInterrupt

    with started() as executor:
        fell(executor.run("pid")[2:3], signal.SIGKILL)
        with monkeypatch.context() as patch:
            patch.setattr(processes, "_spawn", interrupted)
            with pytest.raises(KeyboardInterrupt):
                executor.run("number")
        assert executor.run("number") == NUMBERS


def test_a_process_that_exits_before_it_is_ready_again_leaves_its_shards_to_the_others(
    monkeypatch,
):
    with started(2) as executor:
        victim, *_ = executor.run("pid")
        monkeypatch.setattr(processes, "serve", leave)
        fell([victim], signal.SIGKILL)
        assert executor.run("number") == NUMBERS
        lost, unplaced = executor.notes()
        assert "ended by signal 9" in lost
        assert "ended with code 7 before it was ready; others take over" in unplaced
