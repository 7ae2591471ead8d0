"""The rounds of a run as lines of JSON: appended on a disk, written whole to a store."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

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
    """Return the rounds so far, without a last line that a crash cut short."""
    path = folder / NAME
    rounds: list[Round] = []
    if not path.exists():
        return rounds
    damage: str | None = None
    try:
        with opened_file(path) as file:
            while line := file.readline(MAX_JSON_BYTES):
                if damage is not None:
                    raise CheckpointError(damage)
                try:
                    rounds.append(Round.from_dict(json.loads(line.decode("utf-8"))))
                except DAMAGE as error:
                    damage = f"{path}, line {len(rounds) + 1} is damaged: {error}"
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return rounds


def written_history(folder: Place, rounds: list[Round]) -> History:
    """Return a history that replaces the one in the folder and begins with these rounds."""
    kind = StoreHistory if isinstance(folder, StorePath) else DiskHistory
    return kind(folder, rounds)  # type: ignore[arg-type]


class DiskHistory:
    """A file to which every round is written at once, or as soon as the disk has room."""

    def __init__(self, folder: Path, rounds: list[Round]) -> None:
        self._path = folder / NAME
        self._unwritten = "".join(map(_line, rounds)).encode()
        with refusals(self._path):
            aside, self._file = file_beside(self._path)
        self.secure()
        with refusals(self._path):
            os.replace(aside, self._path)

    def append(self, record: Round) -> None:
        """Add a round; on a full disk it is missing until `secure`."""
        self._unwritten += _line(record).encode()
        with suppress(StoreError):
            self.secure()

    def secure(self) -> None:
        """Write every round that is missing."""
        with refusals(self._path):
            while self._unwritten:
                # Without a buffer: the number of bytes that a full disk took must be known.
                n = os.write(self._file.fileno(), self._unwritten)
                self._unwritten = self._unwritten[n:]

    def close(self) -> None:
        self._file.close()


class StoreHistory:
    """A file that is written whole, because stores cannot append."""

    def __init__(self, folder: StorePath, rounds: list[Round]) -> None:
        self._path, self._lines = folder / NAME, [_line(record) for record in rounds]
        self._n_written = -1
        self.secure()

    def append(self, record: Round) -> None:
        """Add a round, which is missing in the store until `secure`."""
        self._lines.append(_line(record))

    def secure(self) -> None:
        """Write the file unless the store has every round."""
        if self._n_written < len(self._lines):
            write_bytes(self._path, "".join(self._lines).encode())
            self._n_written = len(self._lines)

    def close(self) -> None:
        pass


History: TypeAlias = DiskHistory | StoreHistory


def _line(record: Round) -> str:
    return json_text(record.as_dict()) + "\n"
