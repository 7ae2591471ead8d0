"""The lock of a run's folder: `lock.json`, which names its holder.

On a disk only one process can make it. A store may let two of them, who begin in the same moment:
the one whose lock was written over finds the other's within seconds, and must write nothing more.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import ModuleType

from distsvm.errors import ConfigError
from distsvm.storage import Place, json_bytes, new_folder, write_json
from distsvm.stores import StorePath
from distsvm.training.run_state import LOCK, Holder


def lock_of(folder: Place, me: Holder) -> Lock:
    return StoreLock(folder, me) if isinstance(folder, StorePath) else DiskLock(folder, me)


def check_lockable(folder: Place) -> None:
    """Refuse a folder on a disk where the system has no file locks; a store needs none."""
    if not isinstance(folder, StorePath):
        _fcntl(folder)


def _fcntl(folder: Path) -> ModuleType:
    # Imported on use: training without a run folder works where this module does not exist.
    try:
        import fcntl
    except ImportError as error:
        raise ConfigError(
            f"run_dir={str(folder)!r}: a run folder on a disk needs the file locks of a POSIX "
            "system, such as Linux or macOS; this Python has no module fcntl. Train without "
            "run_dir, or name an object store"
        ) from error
    return fcntl


class Lock(ABC):
    """The lock of one folder, for one who would hold it."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[None]:
        """Nobody else on this host is in here for the same folder, as far as that can be had."""

    @abstractmethod
    def take(self) -> bool:
        """Whether the lock could be made."""

    @abstractmethod
    def take_away(self, holder: Holder | None) -> None:
        """Remove the lock of a holder that is gone; another's stays."""

    @abstractmethod
    def release(self) -> None:
        """Let others have it."""


class DiskLock(Lock):
    """Made by a link, which only one process can."""

    def __init__(self, folder: Path, me: Holder) -> None:
        self._folder, self._me = folder, me

    @contextmanager
    def alone(self) -> Iterator[None]:
        # Else a third could slip in while two find the lock of one who is gone, and the slower of
        # the two puts back what the quicker has made.
        fcntl = _fcntl(self._folder)
        new_folder(self._folder)
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def take(self) -> bool:
        aside = self._folder / f".{LOCK}-{self._me.token}.part"
        write_json(aside, self._me.as_dict())
        try:
            os.link(aside, self._folder / LOCK)  # whole from the start, unlike a file opened "x"
        # Held, or swept away by one who has just ended.
        except (FileExistsError, FileNotFoundError):
            return False
        finally:
            aside.unlink(missing_ok=True)
        return True

    def take_away(self, holder: Holder | None) -> None:
        aside = self._folder / f".{LOCK}-{self._me.token}.old"
        try:
            os.rename(self._folder / LOCK, aside)
        except FileNotFoundError:
            return
        found = Holder.read(aside)
        if found is not None and found != holder:  # somebody was quicker, and holds it now
            with suppress(FileExistsError, FileNotFoundError):
                os.link(aside, self._folder / LOCK)
        aside.unlink(missing_ok=True)

    def release(self) -> None:
        (self._folder / LOCK).unlink(missing_ok=True)
        for left in self._folder.glob(f".{LOCK}-*"):  # by a process that was killed over its lock
            left.unlink(missing_ok=True)


class StoreLock(Lock):
    """Made by a write that is exclusive if the store can do that, and read back."""

    def __init__(self, folder: StorePath, me: Holder) -> None:
        self._path, self._me = folder / LOCK, me

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()

    def take(self) -> bool:
        return self._path.create(json_bytes(self._me.as_dict())) and self._mine()

    def take_away(self, holder: Holder | None) -> None:
        found = Holder.read(self._path)
        if found is None or found == holder:
            self._path.unlink(missing_ok=True)

    def release(self) -> None:
        if self._mine():
            self._path.unlink(missing_ok=True)

    def _mine(self) -> bool:
        return Holder.read(self._path) == self._me
