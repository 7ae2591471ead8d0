"""What is special about Ray: placement, and whose session it is."""

from __future__ import annotations

import builtins
import os
import socket
import subprocess
import sys
import time
from functools import partial

import pytest
from hosted import Hosted

from distsvm.errors import ConfigError, PlacementError, WorkerLost
from distsvm.executors import make_executor
from distsvm.executors.ray import RayExecutor, _options, starved
from distsvm.executors.ray_session import check_reachable, room_on


def python(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.ray
def test_what_cannot_be_placed_is_said_within_the_time_limit(ray_session):
    needs = {"CPU": 1, "unobtainium": 1}
    started = time.monotonic()
    with RayExecutor(2, resources_per_worker=needs, placement_timeout_s=3.0) as executor:
        with pytest.raises(PlacementError) as caught:
            executor.start([partial(Hosted, 0), partial(Hosted, 1)])
        assert 3.0 <= time.monotonic() - started < 15.0
        assert not executor._transport._actors
    message = str(caught.value)
    assert "2 of 2 workers that need {CPU: 1, unobtainium: 1} each" in message
    assert "The cluster has {CPU: 4} in total" in message
    assert "free now" in message
    assert "resources_per_worker" in message
    with RayExecutor(1, placement_timeout_s=30.0) as executor:  # nothing is in the way
        executor.start([partial(Hosted, 0)])
        assert executor.run("number") == [0]


@pytest.fixture
def closed_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.parametrize("n_workers", [None, 1])
@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_where_nobody_listens_is_refused_at_once(
    prefix, n_workers, closed_port, monkeypatch
):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda *_, **__: pytest.fail("Ray was asked to wait"))
    address = f"{prefix}127.0.0.1:{closed_port}"
    with pytest.raises(PlacementError) as caught:
        RayExecutor(n_workers, address=address).start([partial(Hosted, 0)])
    message = str(caught.value)
    assert message.startswith(f"no Ray cluster can be reached at {address}: ")
    assert "refused" in message
    assert "Check that the cluster runs" in message


def test_an_address_that_does_not_answer_is_given_up_after_the_time_limit(monkeypatch):
    def connect(place, timeout_s):
        raise TimeoutError(f"{place} {timeout_s}")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(PlacementError, match=r"head:6379: no answer within 2\.5 s\. Check"):
        check_reachable("head:6379", 2.5)


@pytest.mark.parametrize("address", ["auto", "local", "ray://", "anyscale://a/b:1", "head"])
def test_addresses_without_host_and_port_are_left_to_ray(address, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("tried"))
    check_reachable(address, 1.0)


@pytest.mark.ray
def test_a_session_that_was_there_before_is_used_and_left_open(ray_session):
    executor = make_executor("ray", compiled=True, resources_per_worker={"CPU": 2})
    assert executor.n_workers == 2
    executor.start([partial(Hosted, 0)])
    executor.close()
    assert ray_session.is_initialized()


@pytest.mark.ray
def test_an_actor_takes_a_node_that_is_free_with_a_thread_for_each_of_its_cpus(ray_session):
    n_cpus = int(ray_session.cluster_resources()["CPU"])
    wait_for_room(ray_session, n_cpus)
    for n_workers, n_threads in ((None, n_cpus), (1, n_cpus), (2, n_cpus // 2)):
        with RayExecutor(n_workers, threaded=True) as executor:
            executor.start([partial(Hosted, 0)])
            assert executor.n_workers == (n_workers or 1)
            assert executor._transport._n_threads == n_threads
            free = ray_session.available_resources().get("CPU", 0)
            assert free <= n_cpus - n_threads
            if n_workers == 1:  # a whole node is no longer free
                assert RayExecutor(1, threaded=True)._transport._n_threads == 1
        wait_for_room(ray_session, n_cpus)


@pytest.mark.ray
@pytest.mark.drill
def test_a_ray_that_was_started_here_wants_a_token_and_ends_with_close(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_AUTH_MODE")
    text = """
import os
from distsvm.executors import make_executor

class Shard:
    def number(self):
        return 7

executor = make_executor("ray", 3, compiled=True)
executor.start([Shard] * 3)
assert executor.run("number") == [7, 7, 7]
import ray
assert ray.cluster_resources()["CPU"] >= 3
assert os.environ["RAY_AUTH_MODE"] == "token"
try:
    from ray._raylet import AuthenticationMode, get_authentication_mode
except ImportError:
    pass  # an older Ray, without tokens
else:
    assert get_authentication_mode() == AuthenticationMode.TOKEN
executor.close()
assert not ray.is_initialized()
"""
    path = tmp_path / "script.py"
    path.write_text(text)
    done = python(str(path))
    assert done.returncode == 0, done.stderr


class ExitsAtStart:
    def __init__(self, *_: object) -> None:
        os._exit(5)

    def ready(self) -> bool:
        return True

    def answer(self, *_: object) -> None:
        """Nobody ever comes here."""


@pytest.mark.ray
def test_an_actor_that_exits_at_start_is_given_up_with_the_reason(ray_session):
    with RayExecutor(1, resources_per_worker={"CPU": 0.25}, max_failures=1) as executor:
        options = {"num_cpus": 0.25, "max_restarts": 0}
        executor._transport._actor_class = ray_session.remote(**options)(ExitsAtStart)
        with pytest.raises(WorkerLost, match=r"lost 2 times .*max_failures is 1; last: Actor"):
            executor.start([partial(Hosted, 0)])


def wait_for_room(ray, n_cpus):
    """Wait until the actors of earlier tests have let go of their CPUs, which takes a moment."""
    ends_at = time.monotonic() + 60
    while ray.available_resources().get("CPU", 0) < n_cpus and time.monotonic() < ends_at:
        time.sleep(0.2)


@pytest.mark.ray
def test_fewer_actors_than_asked_for_are_enough_where_that_is_allowed(ray_session):
    n_cpus = int(ray_session.cluster_resources()["CPU"])
    wait_for_room(ray_session, n_cpus)
    limits = {"min_workers": 2, "placement_timeout_s": 15.0}
    with RayExecutor(n_cpus + 2, **limits) as executor:
        shards = range(n_cpus + 2)
        executor.start([partial(Hosted, shard) for shard in shards])
        assert executor.run("number") == list(shards)
        told = " ".join(executor.notes())
    assert f"the run goes on with {n_cpus} of the {n_cpus + 2} workers asked for" in told
    assert "found no place within 15 s" in told


@pytest.mark.ray
def test_actors_are_neither_restarted_nor_retried_by_ray(ray_session):
    transport = RayExecutor(1)._transport
    options = transport._actor_class._default_options
    assert options["max_restarts"] == 0
    assert options["max_task_retries"] == 0


def test_a_missing_ray_is_a_config_error_with_advice(monkeypatch):
    real = builtins.__import__

    def without_ray(name, *args, **kwargs):
        if name == "ray":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(ConfigError, match=r'pip install "distsvm\[ray\]"'):
        RayExecutor(1)


def test_importing_executors_imports_no_ray():
    code = (
        "import sys, distsvm.executors, distsvm.executors.processes, distsvm.executors.ray;"
        "assert 'ray' not in sys.modules"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_resources_become_options_of_an_actor():
    assert _options({"CPU": 2, "GPU": 0.5, "memory": 1e9, "tpu": 1}) == {
        "num_cpus": 2,
        "num_gpus": 0.5,
        "memory": 1e9,
        "resources": {"tpu": 1},
    }
    assert _options({}) == {"num_cpus": 0, "resources": {}}


def test_room_on_a_node_is_that_of_the_scarcest_resource():
    assert room_on({"CPU": 8.0, "GPU": 2.0}, {"CPU": 1, "GPU": 1}) == 2
    assert room_on({"CPU": 8.0}, {"CPU": 1, "GPU": 1}) == 0
    assert room_on({"CPU": 1.0}, {"CPU": 0.25}) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Worker exit type: NODE_OUT_OF_MEMORY Worker exit detail: it had too much", True),
        ("The actor died.\n1 worker(s) were killed due to the node running low on memory.", True),
        ("Worker exit type: SYSTEM_ERROR Some common causes include: (1) the OOM killer", False),
    ],
)
def test_a_death_told_by_rays_memory_monitor_is_one_for_want_of_memory(text, expected):
    assert starved(RuntimeError(text)) is expected
