"""The runner: starts the processes of runs in the order of the queue, at most so many at once."""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from distsvm.errors import ConfigError, DistSVMError
from distsvm.service.child import Alive, Attempt
from distsvm.service.queue import OVER, STARTED, WAITING, Entry, Queue
from distsvm.storage import new_folder, write_bytes
from distsvm.training.run_state import ask_to_stop

log = logging.getLogger(__name__)

TICK_S = 0.5
LARGEST_LOG = 64 << 20
"""A process that writes more than this to its log is not stopped; its log begins anew."""


class Runner:
    """Processes of runs below one folder. They survive the runner, which finds them again.

    A process is made between two changes of the queue: the entry is STARTED first. If the service
    dies between, the next one sees by the attempt's own file whether the process had begun, and
    makes it if not. So no attempt runs twice, and none is lost.

    Parameters
    ----------
    home : Path
        The folder of the runs.
    queue : Queue
    at_once : int
        The most processes that run at once.
    """

    def __init__(self, home: Path, queue: Queue, at_once: int) -> None:
        self.home, self.queue, self.at_once = home, queue, at_once
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._alone = self._take_alone()

    def _take_alone(self) -> int:
        """Return the handle of the lock that one service has on the folder of runs."""
        path = self.queue.path.with_suffix(".lock")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise ConfigError(f"--runs {self.home}: another service has these runs") from None
        return handle

    def start(self) -> None:
        """Look after the queue in a thread until `close`."""
        self._thread = threading.Thread(target=self._loop, name="distsvm-runner", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; the processes of runs go on."""
        self._over.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        os.close(self._alone)

    def wake(self) -> None:
        """Look at the queue now."""
        self._wake.set()

    def _loop(self) -> None:
        while not self._over.is_set():
            try:
                self.step()
            except Exception:
                log.exception("the queue cannot be worked on; it is tried again")
            self._wake.wait(TICK_S)
            self._wake.clear()

    def step(self) -> None:
        """Note which processes are gone, and start runs while there is room."""
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[name]
        n_alive = 0
        for entry in self.queue.in_state(STARTED):
            if Alive(self.folder(entry.name)).held:
                n_alive += 1
            elif self._attempt(entry).begun:
                self.queue.set_state(entry, OVER)
            elif n_alive < self.at_once:  # the service died before it made the process
                n_alive += self._launch(entry)
        for entry in self.queue.in_state(WAITING):
            if n_alive >= self.at_once:
                break
            if self.queue.set_state(entry, STARTED):
                n_alive += self._launch(entry)

    def settle(self, name: str) -> None:
        """Note now that the process of a run is gone, if it is."""
        entry = self.queue.get(name)
        if entry is None or entry.state != STARTED or Alive(self.folder(name)).held:
            return
        if self._attempt(entry).begun:
            self.queue.set_state(entry, OVER)

    def folder(self, name: str) -> Path:
        return self.home / name

    def _attempt(self, entry: Entry) -> Attempt:
        return Attempt(self.folder(entry.name), entry.attempt)

    def _launch(self, entry: Entry) -> bool:
        """Make the process of an entry; False if there is one, or if it cannot be made."""
        attempt = self._attempt(entry)
        try:
            new_folder(attempt.home)
            handle = Alive(attempt.folder).take()
            if handle is None:
                return False
            try:
                if entry.config:
                    write_bytes(attempt.home / "config.toml", entry.config.encode())
                attempt.prepare(entry.words)
                self._children[entry.name] = self._process(attempt, handle)
            finally:
                os.close(handle)  # the process has its own
        except (OSError, DistSVMError) as error:
            log.error("the run %s cannot be started: %s", entry.name, error)
            return False
        return True

    def _process(self, attempt: Attempt, handle: int) -> subprocess.Popen[bytes]:
        if attempt.log.exists() and attempt.log.stat().st_size > LARGEST_LOG:
            attempt.log.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        out = os.open(attempt.log, flags, 0o600)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "distsvm.service.child", str(attempt.folder),
                 str(attempt.number)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, pass_fds=(handle,),
                start_new_session=True, cwd=self.home,
            )  # fmt: skip
        finally:
            os.close(out)

    def stop(self, entry: Entry) -> None:
        """Take a waiting run out of the queue; end one that runs after its round."""
        if entry.state == WAITING and self.queue.set_state(entry, OVER):
            return
        folder = self.folder(entry.name)
        if folder.is_dir():
            ask_to_stop(folder)
