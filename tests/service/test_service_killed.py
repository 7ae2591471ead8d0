"""A service that is killed loses no run and begins none twice."""

import os
import random
import signal

import pytest
from serving import NotServed, Served

from distsvm.service.child import Alive, Attempt
from distsvm.service.queue import OVER, STARTED, WAITING, Queue
from distsvm.service.runner import Runner


def test_a_run_survives_its_service_and_the_next_one_finds_it(served, held, rows):
    served.client.submit(held.options, "held")
    served.wait("held", "running")
    served.client.submit(rows, "waits")
    served.end(signal.SIGKILL)
    assert Alive(served.home / "held").held
    served.start()
    assert served.client.run("held")["state"] == "running"
    assert served.client.run("waits")["waits"] == 1
    held.let_go()
    served.wait("held", "finished")
    served.wait("waits", "finished")


def test_a_second_service_of_the_same_runs_is_refused(served):
    with pytest.raises(NotServed, match="another service has these runs"):
        Served(served.home, served.data)


class Recorded(Runner):
    """A runner that records the processes instead of making them."""

    def _process(self, attempt, handle):
        self.made.append((attempt.folder.name, attempt.number))
        return Ended()


class Ended:
    def poll(self):
        return 0


@pytest.fixture
def runner(tmp_path):
    queue = Queue(tmp_path / "queue.sqlite")
    made = Recorded(tmp_path, queue, 1)
    made.made = []
    yield made
    made.close()
    queue.close()


def test_an_entry_whose_process_was_never_made_is_started_again(runner):
    entry = runner.queue.add("run", ["train"], "C = 1")
    assert runner.queue.set_state(entry, STARTED)  # the service dies here
    runner.step()
    assert runner.made == [("run", 1)]


def test_a_process_that_has_begun_is_over_when_it_is_gone(runner):
    entry = runner.queue.add("run", ["train"], "C = 1")
    runner.step()
    assert Attempt(runner.folder("run"), 1).begin()
    assert not Attempt(runner.folder("run"), 1).begin()
    runner.step()
    assert runner.queue.get("run").state == OVER
    assert runner.made == [("run", 1)]
    assert entry.state == WAITING


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_kills_loses_a_run_or_begins_one_twice(tmp_path, seed):
    """Processes and services die between any two steps; every attempt begins once."""
    draws = random.Random(seed)
    begun: list[str] = []
    alive: dict[str, int] = {}

    class Machine(Runner):
        def _process(self, attempt, handle):
            if draws.random() < 0.3:
                raise Killed
            alive[attempt.folder.name] = os.dup(handle)  # as a process that inherits it
            return Ended()

    names = [f"run-{i}" for i in range(6)]
    asked = 0
    for _ in range(400):
        queue = Queue(tmp_path / "queue.sqlite")
        runner = Machine(tmp_path, queue, 2)
        try:
            for _ in range(draws.randrange(1, 4)):
                if asked < len(names) and draws.random() < 0.5:
                    queue.add(names[asked], ["train"], "C = 1")
                    asked += 1
                runner.step()
                assert len(alive) <= 2
                for name, handle in list(alive.items()):
                    if draws.random() < 0.5:  # it begins, and ends
                        attempt = Attempt(tmp_path / name, 1)
                        if attempt.begin():
                            begun.append(name)
                        close(handle)
                        del alive[name]
        except Killed:
            pass
        finally:
            runner.close()
            queue.close()
    assert sorted(begun) == names


class Killed(BaseException):
    """The service dies."""


def close(handle: int) -> None:
    os.close(handle)
