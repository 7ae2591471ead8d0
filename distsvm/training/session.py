"""One process's hold on a run's folder: taken before anything is written there, seen by others."""

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
    """Holds a run's folder from `take` to `end`, and says so every few seconds.

    `lock.json` keeps others out. Its holder counts as gone when its process is, or, on another
    host, when `state.json` has not been renewed for a minute. A holder that counted as gone and
    comes back finds another's lock, and must write nothing more: `check` raises then. A lock that
    is missing is made again, and one that cannot be read is read again: neither is a takeover.
    """

    def __init__(self, folder: Place) -> None:
        self.folder = folder
        self.held = self.stop_asked = False
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
        """Hold the folder, or raise a CheckpointError that says who does."""
        with self._lock.alone():
            while not self._lock.take():
                state = read_state(self.folder)
                if state.holder is not None and not state.gone:
                    raise CheckpointError(
                        f"{self.folder} is held by a run that goes on: {state.where}, last sign of "
                        f"it {state.age_s:.0f} s ago. Stop it first "
                        f"({command('stop', self.folder)}); a process that is gone from another "
                        "host is given up after a minute"
                    )
                self._lock.take_away(state.holder)
        self.held = True
        with suppress(FileNotFoundError):
            self._earlier = read_json(self.folder / STATE, FileNotFoundError)
        (self.folder / STOP).unlink(missing_ok=True)
        self._facts = {"state": "running", "began": time.time()}
        self._write()
        self._thread = threading.Thread(target=self._beat, name="distsvm-session", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """From here on an error is the run's own; before, what the folder said stays true."""
        self._earlier = None

    def note(self, **facts: Any) -> None:
        """Have the next sign of life tell these, too."""
        self._facts |= facts

    def check(self) -> None:
        """Raise a CheckpointError if another process has taken the run over."""
        if self._taken_over is not None:
            raise CheckpointError(
                f"{self.folder} was taken over by another process ({self._taken_over}), as this "
                "one had given no sign of life; nothing more is written"
            )

    def fail(self, error: BaseException) -> None:
        """Note why the run ended without a result."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self.note(state="stopped", stop_reason="aborted")
        else:
            text = str(error) if isinstance(error, DistSVMError) else repr(error)
            self.note(state="failed", error={"kind": type(error).__name__, "message": text})

    def end(self) -> None:
        """Write the last state and let the folder go; calling it twice does no harm."""
        if not self.held:
            return
        self.held = False
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._taken_over is not None:
            return
        try:
            if Holder.read(self.folder / LOCK) not in (None, self._me):
                return  # taken over since the last look
            if self._earlier is not None and self._facts.get("state") == "failed":
                write_json(self.folder / STATE, self._earlier)
            else:
                self._write()
            (self.folder / STOP).unlink(missing_ok=True)
            self._lock.release()
        except StoreError as error:
            log.warning(
                "the end of the run cannot be told, and it will be taken for lost: %s", error
            )

    def _beat(self) -> None:
        said = None
        while self._taken_over is None and not self._over.wait(BEAT_S):
            problem = self._problem()
            if problem is not None and problem != said:
                log.warning("%s; the run goes on, and tries again", problem)
            said = problem

    def _problem(self) -> str | None:
        """Look at the lock, write a sign of life, and return what prevents it."""
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
