"""A session: the time for which one process alone writes to a run's folder."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from distsvm.errors import DAMAGE, CheckpointError, DistSVMError, StoreError
from distsvm.storage import Place, read_json, write_json
from distsvm.training.advice import command
from distsvm.training.locks import lock_of
from distsvm.training.run_state import LOCK, STATE, STOP, Holder, born, read_state

log = logging.getLogger(__name__)

BEAT_S = 5.0


class Session:
    """The lock of a run's folder from `take` to `end`, with a sign of life every few seconds.

    `lock.json` excludes other processes. Its holder counts as gone when its process is, or, on
    another host, when `state.json` is older than a minute. A holder that counted as gone and
    continues finds the lock of another and must write nothing more: `check` then raises. A missing
    lock is made again, and an unreadable one is read again: neither is a takeover.
    """

    def __init__(self, folder: Place) -> None:
        self.folder = folder
        self.locked = self.stop_asked = False
        self._taken_over: str | None = None
        self._me = Holder(
            uuid.uuid4().hex, socket.gethostname(), os.getpid(), born(os.getpid()),
            os.environ.get("DISTSVM_JOB"),
        )  # fmt: skip
        self._lock = lock_of(folder, self._me)
        self._facts: dict[str, Any] = {}
        self._earlier: Any = None
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self) -> None:
        """Take the lock, or raise a CheckpointError that names its holder."""
        with self._lock.alone():
            while not self._lock.take():
                state = read_state(self.folder)
                if state.holder is not None and not state.gone:
                    raise CheckpointError(
                        f"{self.folder} is in use by a run: {state.where}, last sign of life "
                        f"{state.age_s:.0f} s ago. Stop it first "
                        f"({command('stop', self.folder)}); a process of another host counts as "
                        "gone after a minute without one"
                    )
                self._lock.take_away(state.holder)
        self.locked = True
        with suppress(FileNotFoundError):
            self._earlier = read_json(self.folder / STATE, FileNotFoundError)
        (self.folder / STOP).unlink(missing_ok=True)
        self._facts = {"state": "running", "began": time.time()}
        self._write()
        self._thread = threading.Thread(target=self._beat, name="distsvm-session", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Let later errors replace the state of an earlier session; earlier ones leave it."""
        self._earlier = None

    def note(self, **facts: Any) -> None:
        """Add facts to the next sign of life."""
        self._facts |= facts

    def check(self) -> None:
        """Raise a CheckpointError if another process has taken the run over."""
        if self._taken_over is not None:
            raise CheckpointError(
                f"{self.folder} was taken over by another process ({self._taken_over}), because "
                "this one had given no sign of life; nothing more is written"
            )

    def fail(self, error: BaseException) -> None:
        """Note the reason why the run has no result."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self.note(state="stopped", stop_reason="aborted")
        else:
            text = str(error) if isinstance(error, DistSVMError) else repr(error)
            self.note(state="failed", error={"kind": type(error).__name__, "message": text})

    def end(self) -> None:
        """Write the last state and release the lock; a second call has no effect."""
        if not self.locked:
            return
        self.locked = False
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._taken_over is not None:
            return
        try:
            if Holder.read(self.folder / LOCK) not in (None, self._me):
                return  # taken over since the last beat
            if self._earlier is not None and self._facts.get("state") == "failed":
                write_json(self.folder / STATE, self._earlier)
            else:
                self._write()
            (self.folder / STOP).unlink(missing_ok=True)
            self._lock.release()
        except StoreError as error:
            log.warning("the end of the run cannot be written, so it will count as lost: %s", error)

    def _beat(self) -> None:
        logged = None
        while self._taken_over is None and not self._over.wait(BEAT_S):
            problem = self._problem()
            if problem is not None and problem != logged:
                log.warning("%s; the run continues, and tries again", problem)
            logged = problem

    def _problem(self) -> str | None:
        """Check the lock, write a sign of life, and return what prevents it."""
        lock = self.folder / LOCK
        try:
            if isinstance(self.folder, Path) and not self.folder.is_dir():
                return f"{self.folder}: the folder of the run is gone"
            if not lock.exists() and self._lock.take():
                return f"{lock} was gone, and is made again"
            found = Holder.of(read_json(lock, CheckpointError))
            if found == self._me:
                self.stop_asked = (self.folder / STOP).exists()
                self._write()
            else:
                self._taken_over = found.where
        except (OSError, *DAMAGE) as error:  # a CheckpointError, too
            return f"{self.folder}: no sign of life can be written: {error}"
        return None

    def _write(self) -> None:
        with self._writing:
            state = {"kind": "distsvm state", "format": 1, **self._me.as_dict(), **self._facts}
            write_json(self.folder / STATE, state | {"seen": time.time()})
