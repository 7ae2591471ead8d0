"""Workers that are Ray actors, on this machine or on a cluster."""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from distsvm.errors import ConfigError, PlacementError, TaskError
from distsvm.executors.base import checked_n_workers, usable_cores
from distsvm.executors.failures import FailurePolicy
from distsvm.executors.host import Failure, Host, Reply
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.transport import LARGE, Gone, Request, Transport

logger = logging.getLogger(__name__)


class RayExecutor(RemoteExecutor):
    """Workers are Ray actors; Ray is started here if there is none to be joined.

    Ray itself restarts and retries nothing: an actor that it restarted would be empty. Lost
    actors are built again by this executor.

    Parameters
    ----------
    n_workers : actors, if there are as many shards; None for as many as the cluster can hold, or
        one for each core of this machine if Ray is started here
    address : of a running cluster, as for `ray.init`; RAY_ADDRESS counts too. A session that this
        process already has is used in any case
    resources_per_worker : what one actor needs, {"CPU": 1} unless given
    placement_timeout_s : how long to wait for the cluster's address to answer, and then for the
        next actor to be placed
    max_failures : how often a worker may be lost and built again before WorkerLost is raised
    """

    name = "ray"

    def __init__(
        self,
        n_workers: int | None = None,
        address: str | None = None,
        resources_per_worker: Mapping[str, float] | None = None,
        placement_timeout_s: float = 60.0,
        max_failures: int = 3,
    ) -> None:
        needs = {"CPU": 1.0} if resources_per_worker is None else dict(resources_per_worker)
        transport = RayTransport(address, needs, placement_timeout_s)
        if n_workers is None:
            n_workers = transport.capacity()
        transport.n_expected = checked_n_workers(n_workers)
        super().__init__(transport, transport.n_expected, FailurePolicy(max_failures))


class RayTransport(Transport):
    """Calls of actors that each wrap a Host."""

    n_expected = 1  # workers that a Ray started here must have room for

    def __init__(
        self, address: str | None, needs: Mapping[str, float], placement_timeout_s: float
    ) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS")
        self._needs = needs
        self._placement_timeout_s = placement_timeout_s
        self._ray = _import_ray(secure=self._address is None)
        self._actor_class = self._ray.remote(max_restarts=0, max_task_retries=0, **_options(needs))(
            HostActor
        )
        self._owner = False
        self._actors: dict[int, Any] = {}
        self._pending: dict[int, Any] = {}

    def capacity(self) -> int:
        """How many workers the cluster can hold, or this machine if there is no cluster."""
        ray = self._ray
        if self._address is None and not ray.is_initialized():
            return usable_cores()
        self._connect()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return max(1, sum(_room(node, self._needs) for node in nodes))

    def launch(self, workers: Sequence[int]) -> None:
        self._connect()
        ray = self._ray
        self._kill(workers)
        started = {worker: self._actor_class.remote() for worker in workers}
        self._actors.update(started)
        unplaced = [handle.ready.remote() for handle in started.values()]
        while unplaced:
            placed, unplaced = ray.wait(unplaced, timeout=self._placement_timeout_s)
            if not placed:
                message = self._no_room(len(started), len(unplaced))
                self._kill(workers)
                raise PlacementError(message)

    @contextmanager
    def share(self, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield tuple(self._put(arg) if _n_bytes(arg) >= LARGE else arg for arg in args)

    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._put(arg) for arg in args)

    def send(self, worker: int, request: Request) -> None:
        self._pending.pop(worker, None)
        # what is shared goes at the top level of the call, where Ray turns references into values
        try:
            answer = self._actors[worker].answer.remote(request.verb, request.own, *request.shared)
        except TypeError as error:
            raise _unsendable(error) from error
        self._pending[worker] = answer

    def receive(self, workers: Sequence[int]) -> list[tuple[int, Reply | Gone]]:
        ray = self._ray
        unsent = [worker for worker in workers if worker not in self._pending]
        if unsent:
            return [(worker, Gone("an interrupt cut off its message")) for worker in unsent]
        worker_of = {self._pending[worker]: worker for worker in workers}
        ray.wait(list(worker_of))
        ready, _ = ray.wait(list(worker_of), num_returns=len(worker_of), timeout=0)
        return [(worker_of[answer], self._read(answer)) for answer in ready]

    def close(self) -> None:
        self._kill(list(self._actors))
        self._pending = {}
        if self._owner:
            self._ray.shutdown()
            self._owner = False

    def _read(self, answer: Any) -> Reply | Gone:
        errors = self._ray.exceptions
        lost = (
            errors.RayActorError,
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,  # the actor answered, but its node died with the answer
        )
        try:
            return self._ray.get(answer)
        except lost as error:
            return Gone(_first_line(error))
        except errors.RayTaskError as error:  # Host lets no error out: this one is of pickling
            text = f"a request or its answer cannot be read: {_first_line(error.cause)}"
            return Reply(failure=Failure(None, TaskError(text), str(error)))

    def _connect(self) -> None:
        ray = self._ray
        if ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address is not None:
            _check_reachable(self._address, self._placement_timeout_s)
            ray.init(address=self._address, **quiet)
        else:
            n_cpus = max(usable_cores(), int(-(-self.n_expected * self._needs.get("CPU", 0) // 1)))
            logger.info("starting Ray on this machine with %d CPUs", n_cpus)
            ray.init(address="local", num_cpus=n_cpus, include_dashboard=False, **quiet)
        self._owner = True

    def _put(self, value: Any) -> Any:
        try:
            return self._ray.put(value)
        except TypeError as error:
            raise _unsendable(error) from error

    def _kill(self, workers: Sequence[int]) -> None:
        for worker in workers:
            actor = self._actors.pop(worker, None)
            if actor is not None and self._ray.is_initialized():
                self._ray.kill(actor, no_restart=True)

    def _no_room(self, n_asked: int, n_unplaced: int) -> str:
        total, free = self._ray.cluster_resources(), self._ray.available_resources()
        return (
            f"{n_unplaced} of {n_asked} workers that need {_listed(self._needs)} each found no "
            f"place within {self._placement_timeout_s:g} s. The cluster has {_listed(total)} in "
            f"total and {_listed(free)} free now. Ask for less (n_workers, resources_per_worker), "
            "add nodes, free what other jobs hold, or wait longer (placement_timeout_s)"
        )


def _check_reachable(address: str, timeout_s: float) -> None:
    """Refuse HOST:PORT where nobody listens, for which Ray itself would wait for minutes.

    Other addresses, such as "auto", are Ray's to judge.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal()) or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = f"no answer within {timeout_s:g} s" if isinstance(error, TimeoutError) else error
        raise PlacementError(
            f"no Ray cluster can be reached at {address}: {reason}. Check that the cluster runs "
            "(ray status on its head node), that the address is right (HOST:6379, or "
            "ray://HOST:10001 for Ray Client, unless set otherwise), and that no firewall is in "
            "between"
        ) from error


class HostActor:
    """A Host as an actor."""

    def __init__(self) -> None:
        self._host = Host()

    def ready(self) -> bool:
        return True

    def answer(self, verb: str, own: Sequence[Any], *shared: Any) -> Reply:
        return self._host.answer(verb, shared, own)


def _import_ray(*, secure: bool) -> ModuleType:
    if secure and "ray" not in sys.modules:
        # Ray reads this when it is imported: only who has the token may talk to what we start
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            'executor="ray" needs Ray, which is not installed: pip install "distsvm[ray]"'
        ) from error
    return ray


def _options(needs: Mapping[str, float]) -> dict[str, Any]:
    """Resources as the arguments of ray.remote."""
    names = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
    options: dict[str, Any] = {names[key]: needs[key] for key in needs if key in names}
    options.setdefault("num_cpus", 0)
    return {**options, "resources": {key: needs[key] for key in needs if key not in names}}


def _room(node: Mapping[str, float], needs: Mapping[str, float]) -> int:
    return min((int(node.get(key, 0) // need) for key, need in needs.items() if need), default=1)


def _listed(resources: Mapping[str, float]) -> str:
    hidden = ("node:", "object_store_memory", "memory")
    shown = [f"{k}: {v:g}" for k, v in sorted(resources.items()) if not k.startswith(hidden)]
    return "{" + ", ".join(shown) + "}"


def _n_bytes(value: Any) -> int:
    """The arrays' bytes in a value, as far as they are easily found."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (tuple, list)):
        return sum(_n_bytes(part) for part in value)
    if isinstance(value, dict):
        return sum(_n_bytes(part) for part in value.values())
    if dataclasses.is_dataclass(value):
        return sum(_n_bytes(getattr(value, part.name)) for part in dataclasses.fields(value))
    return 0


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _unsendable(error: BaseException) -> ConfigError:
    return ConfigError(f"cannot be sent to a Ray actor: {error}")
