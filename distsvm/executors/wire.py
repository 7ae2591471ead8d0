"""Objects over a pipe; the bytes of large arrays are beside the pickle, not inside."""

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
    """Write the frames of `encode` to a blocking pipe."""
    Outgoing(frames).write(conn)


def receive(conn: Connection) -> tuple[Any, list[Any]]:
    """Read a message, for `decode`, from a blocking pipe; its arrays are read-only."""
    message = Incoming(writable=False).read(conn)
    assert message is not None, "a non-blocking pipe"
    return message


class Outgoing:
    """A message that is being written: its frames, as far as the pipe has room.

    The memory of large arrays is not copied, so they must not change until all is written.
    """

    def __init__(self, frames: Sequence[Any]) -> None:
        head, *rest = (memoryview(frame) for frame in frames)
        self._left = [memoryview(_SIZE.pack(head.nbytes)), head, *rest]

    def write(self, conn: Connection) -> bool:
        """Go on writing, and return whether all is written; it blocks only on a blocking pipe."""
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
    """A message that is being read, as far as it has arrived.

    Parameters
    ----------
    writable : whether the arrays of the message are writable
    """

    def __init__(self, *, writable: bool) -> None:
        self._writable = writable
        self._parts = self._rooms()
        self._room = next(self._parts)

    def read(self, conn: Connection) -> tuple[Any, list[Any]] | None:
        """Go on reading; return a pickle and its arrays' bytes for `decode`, None before the end.

        It blocks only on a blocking pipe, and raises EOFError at the pipe's end.
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
        """Yield the memory to fill next, one after another, and return the whole message."""
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
    """Return the object as frames: a pickle with its small buffers, then each large buffer."""
    head, buffers = pack(value, dumps)
    plan = [raw.nbytes if raw.nbytes >= LARGE else bytes(raw) for raw in buffers]
    first = pickle.dumps((head, plan), protocol=5)
    return [first, *(raw for raw in buffers if raw.nbytes >= LARGE)]


def decode(head: bytes, buffers: Sequence[Any]) -> Any:
    """Return the object; its arrays are in the buffers and writable if those are."""
    return pickle.loads(head, buffers=buffers)


def pack(value: Any, dumps: Callable[..., bytes] | None = None) -> tuple[bytes, list[memoryview]]:
    """Return the object as a pickle and the memory of its arrays, which is not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = (dumps or by_value)(value, protocol=5, buffer_callback=buffers.append)
    return head, [buffer.raw() for buffer in buffers]


def by_value(value: Any, **options: Any) -> bytes:
    """Pickle for a fresh process; an error names the alternative.

    cloudpickle includes classes and functions that no module of the other process has, such as
    those of a notebook. Plain pickle would only write their names.
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
    """Pickle an answer: classes and functions by name, which is quick, or by value without one."""
    try:
        return pickle.dumps(value, **options)
    except Exception:
        return cloudpickle.dumps(value, **options)


def unread(error: Exception) -> Message:
    """Return why a message cannot be read, and the remedy where a class is unknown here."""
    text = message("{}: {}", type(error).__name__, error)
    if not isinstance(error, (AttributeError, ImportError)):
        return text
    return message(
        "{}. Where only the main program knows a name that was pickled, put the class or function "
        "in a module that worker processes can import, or use {}",
        text,
        Setting("executor", "threads"),
    )
