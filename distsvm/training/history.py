"""The rounds of a run as lines of JSON: appended to on a disk, written anew to a store."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from distsvm.errors import DAMAGE, CheckpointError, StoreError
from distsvm.solvers.round import Round
from distsvm.storage import (
    MAX_JSON_BYTES,
    Place,
    file_beside,
    json_text,
    opened_file,
    refusals,
    write_bytes,
)
from distsvm.stores import StorePath

NAME = "history.jsonl"


def read_history(folder: Place) -> list[Round]:
    """The rounds so far; a last line cut short by a crash is left out."""
    path = folder / NAME
    rounds: list[Round] = []
    if not path.exists():
        return rounds
    damage: str | None = None
    for number, line in enumerate(_lines(path), start=1):
        if damage is not None:
            raise CheckpointError(damage)
        try:
            rounds.append(Round.from_dict(json.loads(line.decode("utf-8"))))
        except DAMAGE as error:
            damage = f"{path}, line {number} is damaged: {error}"
    return rounds


def _lines(path: Place) -> Iterator[bytes]:
    try:
        with opened_file(path) as file:
            while line := file.readline(MAX_JSON_BYTES):
                yield line
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error


def written_history(folder: Place, rounds: list[Round]) -> History:
    """A history of these rounds, to be gone on with; it takes the place of what is there."""
    return (
        StoreHistory(folder, rounds)
        if isinstance(folder, StorePath)
        else DiskHistory(folder, rounds)
    )


class History(ABC):
    """Whose writer goes on."""

    @abstractmethod
    def append(self, record: Round) -> None:
        """Add a round; it can be missing until `secure`: in a store, or on a disk that is full."""

    @abstractmethod
    def secure(self) -> None:
        """Have every round of it written."""

    @abstractmethod
    def close(self) -> None:
        """Write nothing more."""


class DiskHistory(History):
    """A file that every round is written to at once, or as soon as the disk takes it."""

    def __init__(self, folder: Path, rounds: list[Round]) -> None:
        self._path = folder / NAME
        self._unwritten = "".join(map(_line, rounds)).encode()
        with refusals(self._path):
            aside, self._file = file_beside(self._path)
        self.secure()
        with refusals(self._path):
            os.replace(aside, self._path)

    def append(self, record: Round) -> None:
        self._unwritten += _line(record).encode()
        with suppress(StoreError):
            self.secure()

    def secure(self) -> None:
        with refusals(self._path):
            while self._unwritten:
                # Without a buffer: how much of it a full disk has taken must be known.
                n = os.write(self._file.fileno(), self._unwritten)
                self._unwritten = self._unwritten[n:]

    def close(self) -> None:
        self._file.close()


class StoreHistory(History):
    """A file that is written whole, as stores append nothing."""

    def __init__(self, folder: StorePath, rounds: list[Round]) -> None:
        self._path, self._lines = folder / NAME, [_line(record) for record in rounds]
        self._n_written = -1
        self.secure()

    def append(self, record: Round) -> None:
        self._lines.append(_line(record))

    def secure(self) -> None:
        if self._n_written < len(self._lines):
            write_bytes(self._path, "".join(self._lines).encode())
            self._n_written = len(self._lines)

    def close(self) -> None:
        pass


def _line(record: Round) -> str:
    return json_text(record.as_dict()) + "\n"
