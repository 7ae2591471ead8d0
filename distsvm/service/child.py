"""The process of one attempt at a run: it begins once, and says how it ended.

The service starts it as `python -m distsvm.service.child FOLDER N` and may die at any time. A lock
on a file, which the process inherits, lasts as long as the process.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from distsvm.storage import new_folder, read_json, write_json

OWN = "service"
"""The folder in a run's folder that has the service's files."""


@dataclass(frozen=True)
class Attempt:
    """One process of a run: begun, resumed, or begun again after it was lost."""

    folder: Path
    number: int

    @property
    def home(self) -> Path:
        return self.folder / OWN

    @property
    def log(self) -> Path:
        return self.home / "log.txt"

    def _file(self, kind: str) -> Path:
        return self.home / f"{kind}-{self.number}.json"

    def prepare(self, words: list[str]) -> None:
        """Write the words of the command that the process runs."""
        new_folder(self.home)
        write_json(self._file("words"), words)

    def words(self) -> list[str]:
        """Return the words of the command."""
        return list(read_json(self._file("words"), ValueError))

    def begin(self) -> bool:
        """Note that the process has begun; False if another process of this attempt had."""
        try:
            os.close(os.open(self._file("begun"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        return True

    @property
    def begun(self) -> bool:
        return self._file("begun").exists()

    def has_written(self, path: Path) -> bool:
        """Return whether a file was written since the process began."""
        try:
            return path.stat().st_mtime_ns > self._file("begun").stat().st_mtime_ns
        except FileNotFoundError:
            return False

    def end(self, code: int) -> None:
        """Note the exit code."""
        write_json(self._file("exit"), code)

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs, or if it was killed."""
        with suppress(ValueError):
            found = read_json(self._file("exit"), ValueError)
            return found if isinstance(found, int) else None
        return None


class Alive:
    """The lock that the process of a run holds for as long as it lives."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / OWN / "alive"

    def take(self) -> int | None:
        """Return the handle of the lock, for a process to inherit; None if a process has it."""
        new_folder(self._path.parent)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    @property
    def held(self) -> bool:
        """Whether a process of the run lives."""
        if not self._path.exists():
            return False
        handle = self.take()
        if handle is None:
            return True
        os.close(handle)
        return False


def main(folder: str, number: str) -> int:
    """Run the attempt's command once, and note its exit code."""
    from distsvm.cli.program import main as program

    attempt = Attempt(Path(folder), int(number))
    if not attempt.begin():
        return 0
    code = program(attempt.words())
    attempt.end(code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
