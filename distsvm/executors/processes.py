"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from distsvm.errors import ConfigError, TaskError
from distsvm.executors import wire
from distsvm.executors.base import checked_n_workers
from distsvm.executors.blocks import Blocks, Packed, unlink
from distsvm.executors.host import Failure, Reply
from distsvm.executors.oom import n_oom_kills
from distsvm.executors.recovery import Kind, Limits
from distsvm.executors.remote import RemoteExecutor
from distsvm.executors.serving import serve
from distsvm.executors.transport import Gone, Request, Transport

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PATIENCE_S = 5.0  # for a process that was told to end


class ProcessesExecutor(RemoteExecutor):
    """Workers are freshly started processes, fed through pipes and shared memory.

    A script that uses it must guard what it does with ``if __name__ == "__main__":``, because
    every worker imports the script. What has no file, such as a notebook or a program on standard
    input, needs no guard.

    Parameters
    ----------
    n_workers : processes, if there are as many shards
    limits : max_failures, worker_timeout_s, call_timeout_s, min_workers; see Limits
    """

    name = "processes"

    def __init__(self, n_workers: int, **limits: Any) -> None:
        super().__init__(ProcessTransport(), checked_n_workers(n_workers), Limits(**limits))


class _State(Enum):
    IDLE = "idle"
    BUSY = "busy"
    MIDWAY = "midway"  # in a message that an interrupt may have cut off


@dataclass
class _Child:
    process: BaseProcess
    conn: Connection
    pulse: Connection  # what is written here comes back, whatever the process is at
    n_oom_kills: int  # of the whole system when it was started
    ready: bool = False  # has it come as far as our own code?
    pulsing: bool = False  # was it asked for a sign of life?
    state: _State = _State.IDLE


class ProcessTransport(Transport):
    """Pipes to spawned processes.

    A process has at most one request, so a pipe never has both of its ends waiting to write.
    """

    def __init__(self) -> None:
        self._children: dict[int, _Child] = {}
        self._blocks = Blocks()
        self._finalizer: weakref.finalize | None = None

    def launch(self, workers: Sequence[int], timeout_s: float | None = None) -> Mapping[int, str]:
        if multiprocessing.current_process().daemon:
            raise ConfigError(
                "this process may not start others (it is daemonic, as in a multiprocessing.Pool):"
                ' use executor="threads" or "serial" here'
            )
        if self._finalizer is None:
            self._finalizer = weakref.finalize(
                self, _abandon, os.getpid(), self._children, self._blocks.linked
            )
        self.end(workers)
        for worker in workers:
            self._children[worker] = _spawn(worker)
        return {}

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
        with suppress(OSError):  # it is dead, and receive will say so
            wire.send(child.conn, frames)
        child.state = _State.BUSY

    def receive(
        self, workers: Sequence[int], timeout_s: float | None = None
    ) -> list[tuple[int, Reply | Gone]]:
        handles: dict[Any, int] = {}
        answers: list[tuple[int, Reply | Gone]] = []
        for worker in workers:
            child = self._children[worker]
            handles[child.conn] = handles[child.process.sentinel] = worker
            if child.state is not _State.BUSY:
                answers.append((worker, Gone("an interrupt cut off its message")))
        ready = [] if answers else wait(list(handles), timeout_s)
        for worker in sorted({handles[handle] for handle in ready}):
            answer = self._read(self._children[worker])
            if answer is not None:
                answers.append((worker, answer))
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

    def _read(self, child: _Child) -> Reply | Gone | None:
        """The child's answer, or none if it has only said that it is ready."""
        try:
            if not child.conn.poll():  # then it was the sentinel: ended, with nothing left to say
                raise EOFError
            child.state = _State.MIDWAY
            head, buffers = wire.receive(child.conn, writable=True)
        except (EOFError, OSError):
            child.state = _State.BUSY
            try:
                return _post_mortem(child)
            except ConfigError:  # of the others too: what they print must not follow the error
                self.end(list(self._children))
                raise
        if not child.ready:
            child.ready, child.state = True, _State.BUSY
            return None
        child.state = _State.IDLE
        try:
            reply, block = wire.decode(head, buffers)
        except Exception as error:
            text = f"a worker's answer cannot be read here: {wire.unread(error)}"
            return Reply(failure=Failure(None, TaskError(text), ""))
        if block is not None:
            self._blocks.keep(block)
        return reply


def _spawn(worker: int) -> _Child:
    context = multiprocessing.get_context("spawn")
    (ours, theirs), (our_pulse, their_pulse) = context.Pipe(), context.Pipe()
    process = context.Process(
        target=serve, args=(theirs, their_pulse), name=f"distsvm-worker-{worker}", daemon=True
    )
    with _environment(_ONE_THREAD), _interrupts_held_back(), _main_without_file_hidden():
        process.start()
    for end in (theirs, their_pulse):  # so that the end of the process is the end of the pipe
        end.close()
    return _Child(process, ours, our_pulse, n_oom_kills())


def _has_pulse(child: _Child) -> bool:
    """Whether it has answered since it was last asked; it is asked again then.

    One that is still starting counts as alive: nobody there can answer yet.
    """
    try:
        if not child.pulsing:
            child.pulse.send_bytes(b".")
            child.pulsing = True
            return not child.ready
        if not child.pulse.poll():
            return not child.ready
        child.pulse.recv_bytes()
        child.pulse.send_bytes(b".")
    except (OSError, EOFError):
        pass  # it is dead, and receive will say so
    return True


def _post_mortem(child: _Child) -> Gone:
    child.process.join(_PATIENCE_S)
    code = child.process.exitcode
    if code is None:
        return Gone("its pipe closed")
    if code < 0:
        text = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        if -code == signal.SIGKILL and n_oom_kills() > child.n_oom_kills:
            return Gone(f"{text}, as the system does for want of memory", Kind.OUT_OF_MEMORY)
        return Gone(text)
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
    """Leave nothing behind: called by close, or when the driver ends without it."""
    if os.getpid() != owner:  # a fork of the driver must not end the driver's workers
        return
    while children:
        _end(children.popitem()[1], at_once=True)
    while blocks:
        unlink(blocks.popitem()[1])


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set for processes started meanwhile, which read them before any code of ours runs."""
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
    """Processes started meanwhile do not import a main program that no file holds.

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
    """Processes started meanwhile never see Ctrl-C, which is the driver's to handle."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its own start would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
