"""The queue: what waits, and what was started, in a small SQLite file beside the runs."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsvm.errors import ConfigError, DistSVMError

FORMAT = 1
WAITING, STARTED, OVER = "waiting", "started", "over"

_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
  name TEXT PRIMARY KEY,
  place INTEGER NOT NULL,
  asked REAL NOT NULL,
  attempt INTEGER NOT NULL,
  state TEXT NOT NULL,
  words TEXT NOT NULL,
  config TEXT NOT NULL
)
"""


class Taken(DistSVMError):
    """A name is in use, or a run's state does not allow what was asked."""


@dataclass(frozen=True)
class Entry:
    """A run that the service was asked for.

    Parameters
    ----------
    name : str
    asked : float
        When, in seconds since 1970.
    attempt : int
        The number of its latest process, from 1.
    state : str
        WAITING; STARTED, from just before its process is made until the process is gone; or OVER.
    words : list of str
        The words of its command behind `distsvm`.
    config : str
        The configuration in TOML, of a run that begins; empty for one that is resumed.
    """

    name: str
    asked: float
    attempt: int
    state: str
    words: list[str]
    config: str


class Queue:
    """The entries of all runs; every change is on the disk before the call returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            path.chmod(0o600)
            self._db.execute("PRAGMA synchronous=FULL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > FORMAT:
                raise ConfigError(
                    f"{path} has format {version}, this version of distsvm reads up to {FORMAT}; "
                    "upgrade distsvm"
                )
            self._db.execute(_TABLE)
            self._db.execute(f"PRAGMA user_version={FORMAT}")
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                f"{path} is no queue of the service: {error}. Without the file the service knows "
                "all runs that have a folder, and loses those that waited"
            ) from error

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def add(self, name: str, words: list[str], config: str = "") -> Entry:
        """Put a run at the end of the queue; Taken unless it is new or over."""
        with self._change() as db:
            earlier = _entry(db.execute(f"{_ALL} WHERE name=?", (name,)).fetchone())
            if earlier is not None and (earlier.state != OVER or config):
                raise Taken(f"the run {name!r} exists: it is {earlier.state}")
            attempt = 1 if earlier is None else earlier.attempt + 1
            entry = Entry(name, time.time(), attempt, WAITING, words, config)
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES "
                "(?, (SELECT COALESCE(MAX(place), 0) + 1 FROM runs), ?, ?, ?, ?, ?)",
                (name, entry.asked, attempt, WAITING, json.dumps(words), config),
            )
        return entry

    def set_state(self, entry: Entry, state: str) -> bool:
        """Change the state of this attempt; False if the entry has changed meanwhile."""
        with self._change() as db:
            changed = db.execute(
                "UPDATE runs SET state=? WHERE name=? AND attempt=? AND state=?",
                (state, entry.name, entry.attempt, entry.state),
            )
            return changed.rowcount == 1

    def remove(self, entry: Entry) -> bool:
        """Remove an entry that has not changed meanwhile."""
        with self._change() as db:
            gone = db.execute(
                "DELETE FROM runs WHERE name=? AND attempt=? AND state=?",
                (entry.name, entry.attempt, entry.state),
            )
            return gone.rowcount == 1

    def get(self, name: str) -> Entry | None:
        return next(iter(self._select("WHERE name=?", name)), None)

    def all(self) -> list[Entry]:
        """Return all entries in the order of the queue."""
        return self._select("ORDER BY place")

    def in_state(self, state: str) -> list[Entry]:
        return self._select("WHERE state=? ORDER BY place", state)

    def _select(self, where: str, *values: Any) -> list[Entry]:
        with self._lock:
            rows = self._db.execute(f"{_ALL} {where}", values).fetchall()
        return [entry for row in rows if (entry := _entry(row)) is not None]


_ALL = "SELECT name, asked, attempt, state, words, config FROM runs"


def _entry(row: tuple[Any, ...] | None) -> Entry | None:
    if row is None:
        return None
    name, asked, attempt, state, words, config = row
    return Entry(name, asked, attempt, state, json.loads(words), config)
