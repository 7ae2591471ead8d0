"""The main loop of a worker process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

from distsvm.errors import ConfigError, TaskError
from distsvm.executors import wire
from distsvm.executors.blocks import Attachments, Packed
from distsvm.executors.host import Failure, Host, Reply
from distsvm.wording import message


def serve(conn: Connection, pulse: Connection, n_threads: int) -> None:
    """Answer requests until the pipe closes, and the pulse at any time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threading.Thread(target=_keep_pulse, args=(pulse,), daemon=True).start()
    host, attachments = Host(n_threads), Attachments()
    with suppress(EOFError, OSError):
        wire.send(conn, wire.encode("ready"))
        while True:
            wire.send(conn, _answer(host, attachments, *wire.receive(conn)))
    del host
    attachments.close_all_but(None)


def _answer(host: Host, attachments: Attachments, head: bytes, buffers: list[Any]) -> list[Any]:
    """Return the frames of the reply and the block, or None, whose arrays the host keeps."""
    kept: Any = None
    try:
        verb, shared, own, ticket = wire.decode(head, buffers)
        block = shared.block if isinstance(shared, Packed) else None
        if isinstance(shared, Packed):
            shared, kept = attachments.open(shared)
    except Exception as error:
        text = message("a worker cannot read what it was sent: {}", wire.unread(error))
        failure = Failure(None, ConfigError(text), traceback.format_exc())
        return wire.encode((Reply(failure=failure), None))
    reply = host.answer(verb, shared, own, ticket)
    del shared, own
    still = block if kept is not None and kept() is not None else None
    try:
        return wire.encode((reply, still), wire.by_name)
    except Exception as error:
        why = f"a result cannot be pickled: {type(error).__name__}: {error}"
        failure = Failure(None, TaskError(why), traceback.format_exc())
        return wire.encode((replace(reply, value=None, failure=failure), still))


def _keep_pulse(pulse: Connection) -> None:
    with suppress(EOFError, OSError):
        while True:
            pulse.send_bytes(pulse.recv_bytes())


def _end_with_parent() -> None:
    """End the process with its driver, also in the middle of a long call."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
