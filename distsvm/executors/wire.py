"""Objects over a pipe, with the bytes of their large arrays beside the pickle, not inside."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from distsvm.errors import ConfigError
from distsvm.executors.transport import LARGE


def send(conn: Connection, frames: Sequence[Any]) -> None:
    """Write what `encode` made."""
    for frame in frames:
        conn.send_bytes(frame)


def receive(conn: Connection, *, writable: bool) -> tuple[bytes, list[Any]]:
    """Read what `send` wrote: a pickle and its arrays' bytes, for `decode`."""
    head, plan = pickle.loads(conn.recv_bytes())
    parts = (conn.recv_bytes() if isinstance(part, int) else part for part in plan)
    return head, [bytearray(part) if writable else part for part in parts]


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
            f"cannot be sent to a worker process ({type(error).__name__}: {error}): "
            'send what can be pickled, or use executor="threads"'
        ) from error


def by_name(value: Any, **options: Any) -> bytes:
    """Pickle an answer: by name, which is quick, and by value what has no name."""
    try:
        return pickle.dumps(value, **options)
    except Exception:
        return cloudpickle.dumps(value, **options)


def unread(error: Exception) -> str:
    """Why something could not be read, and what to do where the other side has not its class."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, (AttributeError, ImportError)):
        text += (
            ". Where only the main program knows a name that was pickled, put the class or "
            'function in a module that worker processes can import, or use executor="threads"'
        )
    return text
