"""Objects over a pipe, with the bytes of their large arrays beside the pickle, not inside."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from distsvm.errors import ConfigError
from distsvm.executors.transport import LARGE
from distsvm.wording import Message, Setting, message

_SIZE = struct.Struct("!Q")
_AT_ONCE = 64  # frames; systems have a limit


def send(conn: Connection, frames: Sequence[Any]) -> None:
    """Write what `encode` made to a pipe that waits."""
    Outgoing(frames).write(conn)


def receive(conn: Connection) -> tuple[Any, list[Any]]:
    """Read a message, for `decode`, from a pipe that waits; its arrays are read-only."""
    message = Incoming(writable=False).read(conn)
    assert message is not None, "a pipe that does not wait"
    return message


class Outgoing:
    """A message on its way out: its frames, written as far as the pipe has room.

    The memory of large arrays is not copied, so they must not change until all is written.
    """

    def __init__(self, frames: Sequence[Any]) -> None:
        head, *rest = (memoryview(frame) for frame in frames)
        self._left = [memoryview(_SIZE.pack(head.nbytes)), head, *rest]

    def write(self, conn: Connection) -> bool:
        """Write on, and return whether all is written; waits only if the pipe does."""
        try:
            while self._left:
                self._drop(os.writev(conn.fileno(), self._left[:_AT_ONCE]))
        except BlockingIOError:
            return False
        return True

    def _drop(self, n_bytes: int) -> None:
        while n_bytes:
            part = self._left[0]
            if n_bytes < part.nbytes:
                self._left[0] = part[n_bytes:]
                return
            n_bytes -= part.nbytes
            del self._left[0]


class Incoming:
    """A message on its way in, read as far as it has arrived.

    Parameters
    ----------
    writable : whether the arrays of the message shall be
    """

    def __init__(self, *, writable: bool) -> None:
        self._writable = writable
        self._parts = self._rooms()
        self._room = next(self._parts)

    def read(self, conn: Connection) -> tuple[Any, list[Any]] | None:
        """Read on: a pickle and its arrays' bytes, for `decode`, once all of them are there.

        Waits only if the pipe does; raises EOFError at the pipe's end.
        """
        try:
            while True:
                n_bytes = os.readv(conn.fileno(), [self._room])
                if not n_bytes:
                    raise EOFError
                self._room = self._room[n_bytes:]
                if not self._room:
                    self._room = next(self._parts)
        except BlockingIOError:
            return None
        except StopIteration as end:
            return end.value

    def _rooms(self) -> Generator[memoryview, None, tuple[Any, list[Any]]]:
        """The memory to be filled next, again and again, and then the whole message."""
        size = bytearray(_SIZE.size)
        yield memoryview(size)
        first: Any = np.empty(_SIZE.unpack(size)[0], np.uint8)
        yield memoryview(first)
        head, plan = pickle.loads(first)
        buffers: list[Any] = []
        for part in plan:
            if isinstance(part, int):
                large: Any = np.empty(part, np.uint8)  # a bytearray would be filled with zeros
                yield memoryview(large)
                large.flags.writeable = self._writable
                buffers.append(large)
            else:
                buffers.append(bytearray(part) if self._writable else part)
        return head, buffers


def encode(value: Any, dumps: Callable[..., bytes] | None = None) -> list[Any]:
    """The object as frames: a pickle together with its small buffers, then each large buffer."""
    head, buffers = pack(value, dumps)
    plan = [raw.nbytes if raw.nbytes >= LARGE else bytes(raw) for raw in buffers]
    first = pickle.dumps((head, plan), protocol=5)
    return [first, *(raw for raw in buffers if raw.nbytes >= LARGE)]


def decode(head: bytes, buffers: Sequence[Any]) -> Any:
    """The object again; its arrays lie in the buffers and are writable if those are."""
    return pickle.loads(head, buffers=buffers)


def pack(value: Any, dumps: Callable[..., bytes] | None = None) -> tuple[bytes, list[memoryview]]:
    """The object as a pickle and the memory of its arrays, which is not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = (dumps or by_value)(value, protocol=5, buffer_callback=buffers.append)
    return head, [buffer.raw() for buffer in buffers]


def by_value(value: Any, **options: Any) -> bytes:
    """Pickle so that a fresh process can read it, or say what to do about it.

    cloudpickle takes along classes and functions that no module of the other process has, such as
    those of a notebook. Plain pickle would only write down their names.
    """
    try:
        return cloudpickle.dumps(value, **options)
    except Exception as error:
        raise ConfigError(
            message(
                "cannot be sent to a worker process ({}: {}): send what can be pickled, or use {}",
                type(error).__name__,
                error,
                Setting("executor", "threads"),
            )
        ) from error


def by_name(value: Any, **options: Any) -> bytes:
    """Pickle an answer: by name, which is quick, and by value what has no name."""
    try:
        return pickle.dumps(value, **options)
    except Exception:
        return cloudpickle.dumps(value, **options)


def unread(error: Exception) -> Message:
    """Why something could not be read, and what to do where the other side has not its class."""
    text = message("{}: {}", type(error).__name__, error)
    if not isinstance(error, (AttributeError, ImportError)):
        return text
    return message(
        "{}. Where only the main program knows a name that was pickled, put the class or function "
        "in a module that worker processes can import, or use {}",
        text,
        Setting("executor", "threads"),
    )
