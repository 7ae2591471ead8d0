"""ProcessesExecutor: workers in processes of this machine."""

from __future__ import annotations

import math
import multiprocessing
import os
import selectors
import signal
import sys
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from distsvm.errors import ConfigError, TaskError
from distsvm.executors import wire
from distsvm.executors.base import checked_n_workers, usable_cores
from distsvm.executors.blocks import Blocks, Packed, unlink
from distsvm.executors.host import Failure, Reply
from distsvm.executors.oom import OomKills
from distsvm.executors.recovery import Kind, Limits
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.serving import serve
from distsvm.executors.transport import Gone, Request, Transport
from distsvm.options import built
from distsvm.wording import Setting, message

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PATIENCE_S = 5.0  # for a process that was asked to end
_STARTING_S = 300.0  # for one that is starting: its imports may be slow


class ProcessesExecutor(RemoteExecutor):
    """Workers are new processes, which get their work through pipes and shared memory.

    A script that uses it must guard what it does with ``if __name__ == "__main__":``, because
    every worker imports the script. What has no file, such as a notebook or a program on standard
    input, needs no guard.

    Parameters
    ----------
    n_workers : processes, if there are as many shards; None for one, or for as many as the usable
        cores can give threads to
    threaded : whether a worker has several threads unless `threads_per_worker` is given
    limits : the fields of Limits
    """

    name = "processes"

    def __init__(self, n_workers: int | None, *, threaded: bool = False, **limits: Any) -> None:
        own, cores = built(Limits, limits), usable_cores()
        n_threads = own.threads_per_worker
        if n_threads is None:
            n_threads = max(1, cores // (n_workers or 1)) if threaded else 1
        n_workers = checked_n_workers(n_workers or max(1, cores // n_threads))
        super().__init__(ProcessTransport(n_threads), n_workers, own)


class _State(Enum):
    IDLE = "idle"
    BUSY = "busy"
    MIDWAY = "midway"  # in a message that an interrupt may have cut off


@dataclass
class _Child:
    process: BaseProcess
    conn: Connection
    pulse: Connection  # what is written here comes back, whatever the process is at
    started_s: float  # by time.monotonic
    ready: bool = False  # has it come as far as our own code?
    pulsing: bool = False  # was it asked for a sign of life?
    state: _State = _State.IDLE
    outgoing: wire.Outgoing | None = None  # what is left of its request
    incoming: wire.Incoming = field(default_factory=partial(wire.Incoming, writable=True))

    def write(self) -> None:
        """Go on writing its request."""
        if self.outgoing is not None and self.outgoing.write(self.conn):
            self.outgoing = None

    def wanted(self) -> int:
        """Return the events of its pipe to wait for."""
        if self.outgoing is None:
            return selectors.EVENT_READ
        return selectors.EVENT_READ | selectors.EVENT_WRITE


class ProcessTransport(Transport):
    """Non-blocking pipes to spawned processes: one slow worker never delays the others.

    The pulse reveals a process that stops in the middle of a message, too.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self._n_threads = n_threads
        self._children: dict[int, _Child] = {}
        self._blocks = Blocks()
        self._oom_kills = OomKills()
        self._any_ready = False  # whether any process has ever come as far as our own code
        self._finalizer: weakref.finalize | None = None

    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        if multiprocessing.current_process().daemon:
            raise ConfigError(
                message(
                    "this process may not start others (it is daemonic, as in a "
                    "multiprocessing.Pool): use {} or serial here",
                    Setting("executor", "threads"),
                )
            )
        if self._finalizer is None:
            self._finalizer = weakref.finalize(
                self, _abandon, os.getpid(), self._children, self._blocks.linked
            )
        self.end(workers)
        unplaced = {}
        for worker in workers:
            try:
                self._children[worker] = _spawn(worker, self._n_threads)
            except OSError as error:  # no memory, process or file is left to start one with
                unplaced[worker] = f"a worker process cannot be started: {error}"
        return unplaced

    def end(self, workers: Sequence[int]) -> None:
        for worker in workers:
            if worker in self._children:
                _end(self._children.pop(worker), at_once=True)

    def share(self, args: tuple[Any, ...]) -> AbstractContextManager[Packed]:
        return self._blocks.packed(args)

    def keep(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args  # pickled anew by every send

    def send(self, worker: int, request: Request) -> None:
        frames = wire.encode((request.verb, request.shared, request.own, request.ticket))
        child = self._children[worker]
        child.state = _State.MIDWAY
        child.outgoing = wire.Outgoing(frames)
        with suppress(OSError):  # it is dead, and receive will say so
            child.write()
        child.state = _State.BUSY

    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        cut_off = [w for w in workers if not self._asked(w)]
        if cut_off:
            return [(worker, Gone("an interrupt cut off its message")) for worker in cut_off]
        until_s = time.monotonic() + (math.inf if timeout_s is None else timeout_s)
        answers: list[tuple[int, Reply | Gone]] = []
        with selectors.PollSelector() as selector:
            for worker in workers:
                child = self._children[worker]
                selector.register(child.conn, child.wanted(), worker)
                selector.register(child.process.sentinel, selectors.EVENT_READ, worker)
            while True:
                left_s = until_s - time.monotonic()
                events = selector.select(None if timeout_s is None else left_s)
                ended = {key.data for key, _ in events if isinstance(key.fileobj, int)}
                for worker in sorted({key.data for key, _ in events}):
                    child = self._children[worker]
                    answer = self._proceed(child, worker in ended)
                    selector.modify(child.conn, child.wanted(), worker)
                    if answer is not None:
                        answers.append((worker, answer))
                if answers or time.monotonic() >= until_s:
                    return answers

    def alive(self, workers: Sequence[int]) -> set[int]:
        return {worker for worker in workers if _has_pulse(self._children[worker])}

    def close(self) -> None:
        for child in self._children.values():
            _end(child, at_once=child.state is not _State.IDLE)
        if self._finalizer is not None:
            self._finalizer()
            self._finalizer = None
        self._blocks = Blocks()

    def _asked(self, worker: int) -> bool:
        """Return whether it has a request; an interrupt may have come before that or its start."""
        child = self._children.get(worker)
        return child is not None and child.state is _State.BUSY

    def _proceed(self, child: _Child, ended: bool) -> Reply | Gone | None:
        """Go on reading and writing; return the child's answer if it is complete."""
        child.state = _State.MIDWAY
        message = None
        try:
            message = child.incoming.read(child.conn)
            if message is None:
                child.write()
        except (EOFError, OSError):
            ended = True
        if message is None:
            child.state = _State.BUSY
            return self._lost(child) if ended else None
        child.incoming = wire.Incoming(writable=True)
        if not child.ready:
            child.ready, child.state = True, _State.BUSY
            self._any_ready = True
            return None
        child.state = _State.IDLE
        try:
            reply, block = wire.decode(*message)
        except Exception as error:
            text = f"a worker's answer cannot be read here: {wire.unread(error)}"
            return Reply(failure=Failure(None, TaskError(text), ""))
        if block is not None:
            self._blocks.keep(block)
        return reply

    def _lost(self, child: _Child) -> Gone:
        try:
            return _post_mortem(child, self._oom_kills, self._any_ready)
        except ConfigError:  # of the others too: what they print must not follow the error
            self.end(list(self._children))
            raise


def _spawn(worker: int, n_threads: int) -> _Child:
    context = multiprocessing.get_context("spawn")
    (ours, theirs), (our_pulse, their_pulse) = context.Pipe(), context.Pipe()
    process = context.Process(
        target=serve, args=(theirs, their_pulse, n_threads), name=f"distsvm-worker-{worker}",
        daemon=True,
    )  # fmt: skip
    with _environment(_ONE_THREAD), _interrupts_held_back(), _main_without_file_hidden():
        process.start()
    for end in (theirs, their_pulse):  # so that the end of the process is the end of the pipe
        end.close()
    os.set_blocking(ours.fileno(), False)
    return _Child(process, ours, our_pulse, time.monotonic())


def _has_pulse(child: _Child) -> bool:
    """Return whether it has answered the last request for a sign; if so, send the next request.

    One that is still starting counts as alive for a while: it cannot answer yet.
    """
    starting = not child.ready and time.monotonic() - child.started_s < _STARTING_S
    try:
        if not child.pulsing:
            child.pulse.send_bytes(b".")
            child.pulsing = True
            return starting
        if not child.pulse.poll():
            return starting
        child.pulse.recv_bytes()
        child.pulse.send_bytes(b".")
    except (OSError, EOFError):
        pass  # it is dead, and receive will say so
    return True


def _post_mortem(child: _Child, oom_kills: OomKills, any_ready: bool) -> Gone:
    child.process.join(_PATIENCE_S)
    code = child.process.exitcode
    if code is None:
        return Gone("its pipe closed")
    if code < 0:
        text = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        if -code == signal.SIGKILL and oom_kills.one_more():
            return Gone(f"{text}, as the system does for want of memory", Kind.OUT_OF_MEMORY)
        return Gone(text)
    if not child.ready and any_ready:
        return Gone(f"its process ended with code {code} before it was ready", Kind.UNPLACED)
    if not child.ready:
        raise ConfigError(
            f"a worker process ended with code {code} before it was ready, for the reason printed "
            "on standard error. Worker processes import the main script, so a script must do its "
            'work under `if __name__ == "__main__":`'
        )
    return Gone(f"its process ended with code {code}")


def _end(child: _Child, *, at_once: bool) -> None:
    child.conn.close()  # which a process that waits for requests takes as its end
    child.pulse.close()
    if not at_once:
        child.process.join(_PATIENCE_S)
    if child.process.exitcode is None:
        child.process.kill()
        child.process.join(_PATIENCE_S)


def _abandon(owner: int, children: dict[int, _Child], blocks: dict[str, Any]) -> None:
    """End all processes and free shared memory: called by close, or at the end of the driver."""
    if os.getpid() != owner:  # a fork of the driver must not end the driver's workers
        return
    while children:
        _end(children.popitem()[1], at_once=True)
    while blocks:
        unlink(blocks.popitem()[1])


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables that processes started inside read before any code of this package runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _main_without_file_hidden() -> Iterator[None]:
    """Keep processes started inside from importing a main program that is in no file.

    A program on standard input has "<stdin>" for its file. Its classes travel by value.
    """
    main = sys.modules["__main__"]
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    if file is None or os.path.exists(file):
        yield
        return
    del main.__file__
    main.__spec__ = None
    try:
        yield
    finally:
        main.__file__, main.__spec__ = file, spec


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hide Ctrl-C, which the driver handles, from processes started inside."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its own start would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
