"""What has become of a run, told from its folder alone, by anybody."""

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

STATES = ("running", "finished", "stopped", "failed")  # that are written; nobody says "lost"
LARGEST_PID = (1 << 31) - 1

FINISHED = ("eps", "rel_gap", "validation", "precision")
"""Reasons to stop that are ends; after the others a run has more to do."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a run: a token of its own, host, pid, and when the process began.

    `job` is the id of the Ray job that it is the driver of, if it is one.
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
        """Whether the process, which must be of this host, is still the same one."""
        if not _exists(self.pid):
            return False
        return self.born is None or born(self.pid) in (None, self.born)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: Any) -> Holder:
        """The holder that a file's JSON names; a ValueError or the like where it is damaged."""
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
        """The holder that a file names; None where there is no such file or it is damaged."""
        try:
            return cls.of(read_json(path, CheckpointError))
        except StoreError:  # nobody knows whether it is there
            raise
        except DAMAGE:  # a CheckpointError, too
            return None


@dataclass(frozen=True)
class RunState:
    """The state of a run, and how old the last sign of it is.

    Parameters
    ----------
    state : str
        "running"; "finished" (with the wished gap, or as close as could be); "stopped" (by a
        limit or on request: it can be resumed); "failed" (see `error`); or "lost" (it said
        "running", but its process is gone, or there was no sign of it for a minute).
    age_s : float
        Seconds since the last sign, by this host's clock.
    holder : Holder or None
        The process of the last session; None for runs of before there were states.
    damage : str or None
        What is wrong with the files that tell it, if anything is; the rest is told by the others.
    """

    state: str
    age_s: float
    holder: Holder | None = None
    stop_reason: str | None = None
    error: dict[str, str] | None = None
    damage: str | None = None

    @property
    def gone(self) -> bool:
        """Whether nobody works on the run any more."""
        return self.state != "running"

    @property
    def where(self) -> str:
        return "nobody knows where" if self.holder is None else self.holder.where

    def as_dict(self) -> dict[str, Any]:
        holder = {} if self.holder is None else self.holder.as_dict()
        kept = {name: holder.get(name) for name in ("host", "pid", "job")}
        return {
            "state": self.state, "age_s": self.age_s, **kept, "stop_reason": self.stop_reason,
            "error": self.error,
        }  # fmt: skip


def read_state(folder: Place) -> RunState:
    """What has become of the run in a folder."""
    holder = Holder.read(folder / LOCK)
    damage = None if holder is not None else _damage(folder / LOCK, Holder.of)
    try:
        data = read_json(folder / STATE, CheckpointError)
        _check_state(data)
    except DAMAGE:  # a CheckpointError, too
        found = _without_state(folder, holder)
        return replace(found, damage=damage or _damage(folder / STATE, _check_state))
    state, age_s, known = data["state"], max(0.0, time.time() - data["seen"]), Holder.of(data)
    if holder is not None and holder != known:  # a new holder that has not yet said anything
        age_s, state, known = _age(folder / LOCK), "running", holder
    # Who releases a lock deletes it: one that cannot be read may still be held.
    released = holder is None and damage is None
    if state == "running" and (released or _is_lost(known, age_s)):
        state = "lost"
    return RunState(state, age_s, known, data.get("stop_reason"), data.get("error"), damage)


def _check_state(data: Any) -> None:
    """Refuse what no session has written."""
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
    """What is wrong with a file that cannot be used; None where there is none."""
    if not path.exists():
        return None
    try:
        check(read_json(path, CheckpointError))
    except CheckpointError as error:
        return str(error)
    except DAMAGE as error:
        return f"{path} is damaged: {error!r:.80}"
    return None  # it has been written meanwhile


def last_round(folder: Place) -> Round | None:
    """The last whole line of the history, found without reading the rest of it."""
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
    """Have the run end after its current round, with a checkpoint."""
    write_bytes(folder / STOP, b"")  # which takes the place of a link, and does not follow it


def born(pid: int) -> int | None:
    """When a process began, in the system's own unit; None where that cannot be known."""
    fields = _status(pid)
    return int(fields[19]) if len(fields) > 19 else None


def _without_state(folder: Place, holder: Holder | None) -> RunState:
    """Of a run whose state was never written, or is damaged: its result tells the end."""
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
    # A process of this host that is suspended may wake up and go on: it is not lost.
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
    return _status(pid)[:1] != ["Z"]  # dead, but its parent has not asked how it ended


def _status(pid: int) -> list[str]:
    """What Linux tells of a process behind its name: its state first; nothing elsewhere."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
