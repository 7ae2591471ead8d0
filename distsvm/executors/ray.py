"""RayExecutor: workers in Ray actors, on this machine or on a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from distsvm.errors import ConfigError, TaskError
from distsvm.executors.base import checked_n_workers
from distsvm.executors.host import Failure, Host, Reply, Ticket
from distsvm.executors.options import RayOptions
from distsvm.executors.ray_session import RaySession, token_auth
from distsvm.executors.recovery import Kind
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.transport import LARGE, Gone, Request, Transport
from distsvm.options import built

PULSE = "pulse"
"""The concurrency group in which an actor answers during its other work."""

RESENDS = 3
"""The number of repetitions of a request to an actor that exists but was not reached."""


class RayExecutor(RemoteExecutor):
    """Workers are Ray actors; without a cluster to join, Ray is started here.

    Ray itself restarts and retries nothing: an actor that it restarted would be empty. Lost
    actors are built again by this executor, or their shards are given to others.

    Parameters
    ----------
    n_workers : actors, if there are as many shards; None for as many as the cluster can hold, also
        when it grows
    threaded : whether an actor takes a node, with a thread for each of its CPUs, unless the options
        say how much it takes; else one CPU
    options : the fields of RayOptions
    """

    name = "ray"

    def __init__(
        self, n_workers: int | None = None, *, threaded: bool = False, **options: Any
    ) -> None:
        own = built(RayOptions, options)
        session = RaySession(own.address, own.placement_timeout_s)
        n_threads = own.threads_per_worker
        if own.resources_per_worker is not None:
            session.needs = own.resources_per_worker
        elif n_threads is not None:
            session.needs = {"CPU": float(n_threads)}
        elif threaded:
            session.needs = {"CPU": float(session.share_of_node(n_workers))}
        if n_threads is None:
            n_threads = max(1, int(session.needs.get("CPU", 1))) if threaded else 1
        follows_room = n_workers is None
        session.n_expected = checked_n_workers(n_workers or session.capacity())
        super().__init__(
            RayTransport(session, n_threads),
            session.n_expected,
            own,
            enough=own.min_workers,
            follows_room=follows_room,
        )


class RayTransport(Transport):
    """Calls of actors, each of which has a Host."""

    def __init__(self, session: RaySession, n_threads: int = 1) -> None:
        self._session, self._n_threads = session, n_threads
        self._ray = session.ray
        self._actor_class = self._ray.remote(
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={PULSE: 1},
            **_options(session.needs),
        )(HostActor)
        self._actors: dict[int, Any] = {}
        self._pending: dict[int, Any] = {}
        self._requests: dict[int, Request] = {}
        self._resends: dict[int, int] = {}
        self._invited: dict[int, Any] = {}
        self._pulses: dict[int, Any] = {}

    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        self._session.connect()
        self.end(workers)
        limit_s = self._session.placement_timeout_s
        limit_s = limit_s if timeout_s is None else min(timeout_s, limit_s)
        unplaced = {self._start(worker): worker for worker in workers}
        while unplaced:
            placed, _ = self._ray.wait(list(unplaced), timeout=limit_s)
            if not placed:
                reason = self._session.no_room(len(workers), len(unplaced), limit_s)
                self.end(list(unplaced.values()))
                return dict.fromkeys(unplaced.values(), reason)
            for ready in placed:
                self._greet(ready)
                del unplaced[ready]
        return {}

    def end(self, workers: Sequence[int]) -> None:
        for worker in workers:
            actor = self._actors.pop(worker, None)
            for known in (self._pending, self._requests, self._invited, self._pulses):
                known.pop(worker, None)
            if actor is not None and self._ray.is_initialized():
                self._ray.kill(actor, no_restart=True)

    def room(self) -> int:
        return self._session.room()

    def invite(self, workers: Sequence[int]) -> None:
        self._invited.update({worker: self._start(worker) for worker in workers})

    def arrived(self) -> list[int]:
        worker_of = {ready: worker for worker, ready in self._invited.items()}
        if not worker_of:
            return []
        here, _ = self._ray.wait(list(worker_of), num_returns=len(worker_of), timeout=0)
        there = [worker_of[ready] for ready in here if self._greet(ready)]
        for worker in there:
            del self._invited[worker]
        return there

    @contextmanager
    def share(self, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        yield self.keep(args)

    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        # small arguments are part of each call: Ray may search a copy of an object on the node that
        # was lost, which takes half a minute
        return tuple(self._put(arg) if _n_bytes(arg) >= LARGE else arg for arg in args)

    def send(self, worker: int, request: Request) -> None:
        self._pending.pop(worker, None)
        self._pulses.pop(worker, None)  # an earlier sign says nothing about this request
        self._requests[worker], self._resends[worker] = request, RESENDS
        self._ask(worker, request)

    def _ask(self, worker: int, request: Request) -> None:
        # shared arguments are at the top level of the call, where Ray turns references into values
        try:
            answer = self._actors[worker].answer.remote(
                request.verb, request.own, request.ticket, *request.shared
            )
        except TypeError as error:
            raise _unsendable(error) from error
        self._pending[worker] = answer

    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        ray = self._ray
        unsent = [worker for worker in workers if worker not in self._pending]
        if unsent:
            return [(worker, Gone("an interrupt cut off its message")) for worker in unsent]
        worker_of = {self._pending[worker]: worker for worker in workers}
        ray.wait(list(worker_of), timeout=timeout_s)
        ready, _ = ray.wait(list(worker_of), num_returns=len(worker_of), timeout=0)
        read = [(worker_of[answer], self._read(answer)) for answer in ready]
        return [
            (worker, answer)
            for worker, answer in read
            if not (isinstance(answer, Unreached) and self._asked_again(worker))
        ]

    def _asked_again(self, worker: int) -> bool:
        """Send the request again and return whether it was sent; the actor executes it once."""
        if not self._resends[worker]:
            return False
        self._resends[worker] -= 1
        self._ask(worker, self._requests[worker])
        return True

    def alive(self, workers: Sequence[int]) -> list[int]:
        worker_of = {self._pulses[w]: w for w in workers if w in self._pulses}
        ready = []
        if worker_of:
            ready, _ = self._ray.wait(list(worker_of), num_returns=len(worker_of), timeout=0)
        heard = [worker_of[pulse] for pulse in ready if self._beats(pulse)]
        for worker in workers:
            if self._pulses.get(worker) in (None, *ready):
                pulse = self._actors[worker].pulse.options(concurrency_group=PULSE)
                self._pulses[worker] = pulse.remote()
        return heard

    def close(self) -> None:
        self.end(list(self._actors))
        self._session.close()

    def _start(self, worker: int) -> Any:
        """Begin to start an actor; return a reference to wait for."""
        self._actors[worker] = actor = self._actor_class.remote(self._n_threads)
        return actor.ready.remote()

    def _greet(self, ready: Any) -> bool:
        """Return whether the actor has started; the first request finds one that died at once."""
        try:
            self._session.note_token_auth(self._ray.get(ready))
        except self._ray.exceptions.RayError:
            return False
        return True

    def _beats(self, pulse: Any) -> bool:
        """Return whether the actor answered; the error of an unreached actor is no sign of life."""
        try:
            self._ray.get(pulse)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _read(self, answer: Any) -> Reply | Gone:
        errors = self._ray.exceptions
        lost = (
            errors.RayActorError,
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,  # the actor answered, but its node died with the answer
        )
        try:
            return self._ray.get(answer)
        except errors.OutOfMemoryError as error:
            return Gone(_first_line(error), Kind.OUT_OF_MEMORY)
        except errors.ActorUnavailableError as error:
            return Unreached(_first_line(error))
        except lost as error:
            return Gone(_first_line(error), Kind.OUT_OF_MEMORY if starved(error) else Kind.DIED)
        except errors.RayTaskError as error:  # Host lets no error out: this one is of pickling
            text = f"a request or its answer cannot be read: {_first_line(error.cause)}"
            return Reply(failure=Failure(None, TaskError(text), str(error)))

    def _put(self, value: Any) -> Any:
        try:
            return self._ray.put(value)
        except TypeError as error:
            raise _unsendable(error) from error


class Unreached(Gone):
    """The request or its answer was lost in transit; the actor may be intact."""


class HostActor:
    """A Host as an actor. It executes a request once, however often its ticket comes."""

    def __init__(self, n_threads: int = 1) -> None:
        self._host = Host(n_threads)
        self._last = Reply()

    def ready(self) -> bool:
        """Return whether the cluster asks for a token, as far as this process knows."""
        return token_auth()

    def pulse(self) -> None:
        """Return at once, as a sign of life."""

    def answer(self, verb: str, own: Sequence[Any], ticket: Ticket | None, *shared: Any) -> Reply:
        if ticket is None or ticket != self._last.ticket:
            self._last = Reply()  # what was answered before takes no memory while this is done
            self._last = self._host.answer(verb, shared, own, ticket)
        return self._last


def _options(needs: Mapping[str, float]) -> dict[str, Any]:
    """Return resources as arguments of ray.remote."""
    names = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
    options: dict[str, Any] = {names[key]: needs[key] for key in needs if key in names}
    options.setdefault("num_cpus", 0)
    return {**options, "resources": {key: needs[key] for key in needs if key not in names}}


def _n_bytes(value: Any) -> int:
    """Return the bytes of the arrays that are easily found in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (tuple, list)):
        return sum(_n_bytes(part) for part in value)
    if isinstance(value, partial):
        return _n_bytes(value.args) + _n_bytes(value.keywords)
    if isinstance(value, dict):
        return sum(_n_bytes(part) for part in value.values())
    if dataclasses.is_dataclass(value):
        return sum(_n_bytes(getattr(value, part.name)) for part in dataclasses.fields(value))
    return 0


def starved(error: BaseException) -> bool:
    """Return whether the text of an error names Ray's memory monitor as the cause of a death.

    The words "OOM killer" are no sign: Ray names it, as a guess, for every process that died.
    """
    return any(words in str(error) for words in ("NODE_OUT_OF_MEMORY", "running low on memory"))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _unsendable(error: BaseException) -> ConfigError:
    return ConfigError(f"cannot be sent to a Ray actor: {error}")
