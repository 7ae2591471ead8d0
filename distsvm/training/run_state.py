"""The state of a run, as any process can read it from the run's folder."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from distsvm import checks
from distsvm.errors import DAMAGE, CheckpointError, StoreError
from distsvm.solvers.round import Round
from distsvm.storage import Place, opened_file, read_json, write_bytes

LOCK, STATE, STOP = "lock.json", "state.json", "stop"
LOST_S = 60.0
TAIL = 1 << 16

STATES = ("running", "finished", "stopped", "failed")  # in files, which never have "lost"
LARGEST_PID = (1 << 31) - 1

FINISHED = ("eps", "rel_gap", "validation", "precision", "own rule")
"""Reasons to stop that end a run; after the others it can be resumed."""


@dataclass(frozen=True)
class Holder:
    """The process that has the lock of a run: its own token, host, pid and time of birth.

    `job` is the id of the Ray job whose driver it is, if it is one.
    """

    token: str
    host: str
    pid: int
    born: int | None = None
    job: str | None = None

    @property
    def where(self) -> str:
        job = "" if self.job is None else f", job {self.job}"
        return f"process {self.pid} on {self.host}{job}"

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether the process, which must be of this host, still runs."""
        if not _exists(self.pid):
            return False
        return self.born is None or born(self.pid) in (None, self.born)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: Any) -> Holder:
        """Return the holder in a file's JSON; an error of DAMAGE where that is damaged."""
        found = cls(**{field.name: data[field.name] for field in fields(cls)})
        checks.whole("pid", found.pid, 1)
        if found.pid > LARGEST_PID:
            raise ValueError(f"pid is {found.pid}")
        if found.born is not None:
            checks.whole("born", found.born)
        for name in ("token", "host", "job"):
            _check_text(name, getattr(found, name), optional=name == "job")
        return found

    @classmethod
    def read(cls, path: Place) -> Holder | None:
        """Return the holder in a file; None where there is no file or it is damaged."""
        try:
            return cls.of(read_json(path, CheckpointError))
        except StoreError:  # whether the file exists is unknown
            raise
        except DAMAGE:  # a CheckpointError, too
            return None


@dataclass(frozen=True)
class RunState:
    """The state of a run, and the age of the last sign of life.

    Parameters
    ----------
    state : str
        "running"; "finished" (with the wanted gap, or as close as rounding allows); "stopped" (by
        a limit or on request: it can be resumed); "failed" (see `error`); or "lost" ("running" in
        the file, but its process is gone, or there was no sign of life for a minute).
    age_s : float
        Seconds since the last sign, by this host's clock.
    holder : Holder or None
        The process of the last session; None for runs of versions without states.
    damage : str or None
        The damage of one of the files, if there is any; the values come from the other files.
    """

    state: str
    age_s: float
    holder: Holder | None = None
    stop_reason: str | None = None
    error: dict[str, str] | None = None
    damage: str | None = None

    @property
    def gone(self) -> bool:
        """Whether no process works on the run any more."""
        return self.state != "running"

    @property
    def where(self) -> str:
        return "at an unknown place" if self.holder is None else self.holder.where

    def as_dict(self) -> dict[str, Any]:
        holder = {} if self.holder is None else self.holder.as_dict()
        kept = {name: holder.get(name) for name in ("host", "pid", "job")}
        return {
            "state": self.state, "age_s": self.age_s, **kept, "stop_reason": self.stop_reason,
            "error": self.error,
        }  # fmt: skip


def read_state(folder: Place) -> RunState:
    """Return the state of the run in a folder."""
    holder = Holder.read(folder / LOCK)
    damage = None if holder is not None else _damage(folder / LOCK, Holder.of)
    try:
        data = read_json(folder / STATE, CheckpointError)
        _check_state(data)
    except DAMAGE:  # a CheckpointError, too
        found = _without_state(folder, holder)
        return replace(found, damage=damage or _damage(folder / STATE, _check_state))
    state, age_s, known = data["state"], max(0.0, time.time() - data["seen"]), Holder.of(data)
    if holder is not None and holder != known:  # a new holder that has not yet written
        age_s, state, known = _age(folder / LOCK), "running", holder
    # A released lock is deleted: one that cannot be read may still be valid.
    released = holder is None and damage is None
    if state == "running" and (released or _is_lost(known, age_s)):
        state = "lost"
    return RunState(state, age_s, known, data.get("stop_reason"), data.get("error"), damage)


def _check_state(data: Any) -> None:
    """Refuse values that no session writes."""
    Holder.of(data)
    checks.number("seen", data["seen"])
    if data["state"] not in STATES:
        raise ValueError(f"state is {data['state']!r:.40}")
    _check_text("stop_reason", data.get("stop_reason"), optional=True)
    error = data.get("error")
    if error is not None:
        for name in ("kind", "message"):
            _check_text(f"the error's {name}", error[name])


def _check_text(name: str, value: Any, optional: bool = False) -> None:
    if not (isinstance(value, str) or (optional and value is None)):
        raise ValueError(f"{name} is {value!r:.40}, expected text")


def _damage(path: Place, check: Callable[[Any], object]) -> str | None:
    """Return the damage of a file; None where there is no file."""
    if not path.exists():
        return None
    try:
        check(read_json(path, CheckpointError))
    except CheckpointError as error:
        return str(error)
    except DAMAGE as error:
        return f"{path} is damaged: {error!r:.80}"
    return None  # it has been replaced meanwhile


def last_round(folder: Place) -> Round | None:
    """Return the last whole line of the history without reading the rest of it."""
    try:
        with opened_file(folder / "history.jsonl") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - TAIL))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None
    except StoreError:
        raise
    except OSError as error:
        raise CheckpointError(f"{folder / 'history.jsonl'} is damaged: {error}") from error
    for line in reversed(lines[-2:]):  # the last may be half written
        try:
            return Round.from_dict(json.loads(line))
        except DAMAGE:
            continue
    return None


def ask_to_stop(folder: Place) -> None:
    """Make the run end after its current round, with a checkpoint."""
    write_bytes(folder / STOP, b"")  # replaces a link instead of following it


def born(pid: int) -> int | None:
    """Return the start time of a process in the system's unit; None where it is unknown."""
    fields = _status(pid)
    return int(fields[19]) if len(fields) > 19 else None


def _without_state(folder: Place, holder: Holder | None) -> RunState:
    """Return the state of a run whose state file is missing or damaged, from its other files."""
    if holder is not None:
        age_s = _age(folder / LOCK)
        return RunState("lost" if _is_lost(holder, age_s) else "running", age_s, holder)
    names = ("result.json", "history.jsonl", "run.json")
    age_s = min((_age(folder / name) for name in names), default=0.0)
    try:
        reason = str(read_json(folder / "result.json", CheckpointError)["stop_reason"])
    except (CheckpointError, KeyError, TypeError):
        return RunState("lost", age_s)
    return RunState("finished" if reason in FINISHED else "stopped", age_s, None, reason)


def _is_lost(holder: Holder, age_s: float) -> bool:
    # A suspended process of this host may continue later: it is not lost.
    return not holder.is_alive if holder.is_here else age_s > LOST_S


def _age(path: Place) -> float:
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return float("inf")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _status(pid)[:1] != ["Z"]  # a zombie: dead, but its parent has not waited for it


def _status(pid: int) -> list[str]:
    """Return Linux's fields of a process after its name, its state first; empty elsewhere."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
