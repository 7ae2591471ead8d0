"""The lock of a run's folder: `lock.json`, which names its holder.

On a disk only one process can make it. In a store two processes that begin in the same moment may
both make it: the one whose lock was overwritten finds the other's within seconds, and then writes
nothing more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from distsvm.errors import ConfigError
from distsvm.storage import Place, json_bytes, new_folder, write_json
from distsvm.stores import StorePath
from distsvm.training.run_state import LOCK, Holder


def lock_of(folder: Place, me: Holder) -> Lock:
    """Return the lock of a folder for this process."""
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


class DiskLock:
    """A lock made by a hard link, which only one process can make."""

    def __init__(self, folder: Path, me: Holder) -> None:
        self._folder, self._me = folder, me

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes of this host out of this block for the same folder."""
        # Otherwise, where two find the lock of a process that is gone, a third could come between
        # them, and the slower of the two would restore what the quicker has made.
        fcntl = _fcntl(self._folder)
        new_folder(self._folder)
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def take(self) -> bool:
        """Make the lock, and return whether that was possible."""
        aside = self._folder / f".{LOCK}-{self._me.token}.part"
        write_json(aside, self._me.as_dict())
        try:
            os.link(aside, self._folder / LOCK)  # whole from the start, unlike a file opened "x"
        # Another process has the lock, or its release deleted the file aside.
        except (FileExistsError, FileNotFoundError):
            return False
        finally:
            aside.unlink(missing_ok=True)
        return True

    def take_away(self, holder: Holder | None) -> None:
        """Remove the lock of a holder that is gone; another's stays."""
        aside = self._folder / f".{LOCK}-{self._me.token}.old"
        try:
            os.rename(self._folder / LOCK, aside)
        except FileNotFoundError:
            return
        found = Holder.read(aside)
        if found is not None and found != holder:  # another process was quicker and has it now
            with suppress(FileExistsError, FileNotFoundError):
                os.link(aside, self._folder / LOCK)
        aside.unlink(missing_ok=True)

    def release(self) -> None:
        """Remove the lock of this process."""
        (self._folder / LOCK).unlink(missing_ok=True)
        for left in self._folder.glob(f".{LOCK}-*"):  # by a process that was killed meanwhile
            left.unlink(missing_ok=True)


class StoreLock:
    """A lock made by a write, exclusive if the store supports that, and read back.

    Its methods are those of DiskLock.
    """

    def __init__(self, folder: StorePath, me: Holder) -> None:
        self._path, self._me = folder / LOCK, me

    def alone(self) -> nullcontext[None]:
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


Lock: TypeAlias = DiskLock | StoreLock
