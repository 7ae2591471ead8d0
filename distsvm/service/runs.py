"""The runs as the service shows them: their folders, and what the queue adds."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsvm.cli.config_file import parsed
from distsvm.cli.models import is_own_code
from distsvm.cli.run_table import facts_of, is_run
from distsvm.errors import CheckpointError, DistSVMError
from distsvm.service.child import OWN, Alive, Attempt
from distsvm.service.queue import OVER, STARTED, WAITING, Entry, Queue, Taken
from distsvm.service.requests import NAME
from distsvm.service.runner import Runner
from distsvm.storage import json_text
from distsvm.training.run_state import LOCK, STATE

WATCHED = ("run.json", STATE, LOCK, "history.jsonl", "result.json")
"""Files whose sizes and times tell whether the facts of a run have changed."""
LOG_BYTES = 1 << 16
EXIT_S = 10.0
"""Time that a process has to end once its run has ended."""
HISTORY_BYTES = 4 << 20


class Missing(DistSVMError):
    """There is no such run, model or version."""


@dataclass(frozen=True)
class Part:
    """A part of a growing file, and where the next part begins."""

    text: str
    next: int


class Runs:
    """All runs below one folder, one folder each."""

    def __init__(self, home: Path, queue: Queue, runner: Runner) -> None:
        self.home, self.queue, self.runner = home, queue, runner
        self._seen: dict[str, tuple[Any, float, dict[str, Any]]] = {}

    # --- what there is ---------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all runs, the newest first."""
        entries = {entry.name: entry for entry in self.queue.all()}
        found: dict[str, float] = {name: entry.asked for name, entry in entries.items()}
        with os.scandir(self.home) as inside:
            for item in inside:
                if (
                    item.name not in found
                    and NAME.fullmatch(item.name)
                    and item.is_dir(follow_symlinks=False)
                    and is_run(Path(item.path))
                ):
                    found[item.name] = os.stat(Path(item.path) / "run.json").st_mtime
        return sorted(found, key=lambda name: (-found[name], name))

    def facts(self, name: str) -> dict[str, Any]:
        """Return the main facts of a run; Missing if there is none of this name."""
        entry = self.queue.get(name) if NAME.fullmatch(name) else None
        folder = self.home / name
        has_folder = NAME.fullmatch(name) is not None and is_run(folder)
        if entry is None and not has_folder:
            raise Missing(f"there is no run {name!r:.100}")
        facts = {"name": name, "waits": None, **(self._of_folder(folder) if has_folder else {})}
        facts.pop("path", None)
        if entry is not None:
            facts |= self._of_entry(entry, facts, folder)
        return facts

    def _of_folder(self, folder: Path) -> dict[str, Any]:
        """Return the facts of a run's folder, kept until one of its files changes."""
        key = tuple(map(_stamp, (folder / name for name in WATCHED)))
        kept = self._seen.get(folder.name)
        now = time.monotonic()
        if kept is not None and kept[0] == key and kept[2].get("state") != "running":
            age_s = kept[2].get("age_s")
            later = {} if age_s is None else {"age_s": age_s + now - kept[1]}
            return kept[2] | later
        try:
            facts = facts_of(folder)
        except CheckpointError as error:
            facts = {
                "state": "damaged",
                "error": {"kind": "CheckpointError", "message": str(error)},
            }
        self._seen[folder.name] = key, now, facts
        return facts

    def _of_entry(self, entry: Entry, facts: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Return what the queue says that the folder does not."""
        attempt = Attempt(folder, entry.attempt)
        more: dict[str, Any] = {"asked": entry.asked, "attempt": entry.attempt}
        known = facts.get("state")
        if entry.state == WAITING:
            places = [one.name for one in self.queue.in_state(WAITING)]
            waits = places.index(entry.name) + 1 if entry.name in places else None
            return more | {"state": "waiting", "waits": waits}
        if entry.state == STARTED and known != "running" and _is_coming(attempt):
            return more | {"state": "starting"}
        if known is None:
            stopped = not attempt.begun
            message = "it was taken out of the queue" if stopped else self._last_words(attempt)
            more["state"] = "stopped" if stopped else "failed"
            more["error"] = {"kind": "Ended", "message": message}
        return more | {"exit_code": attempt.code}

    def _last_words(self, attempt: Attempt) -> str:
        """Return the last line of the log of a process that wrote no run."""
        lines = [line for line in self.log(attempt.folder.name).text.splitlines() if line.strip()]
        return lines[-1][:1000] if lines else "its process ended before the run began"

    def folder(self, name: str) -> Path:
        """Return the folder of a run that has begun."""
        self.facts(name)
        if not is_run(self.home / name):
            raise Taken(f"the run {name!r} has not begun")
        return self.home / name

    def config(self, name: str) -> str:
        """Return the configuration of a run that the service began, as it was asked for."""
        entry = self.queue.get(self.facts(name)["name"])
        if entry is not None and entry.config:
            return entry.config
        try:
            return (self.folder(name) / OWN / "config.toml").read_text(encoding="utf-8")
        except OSError:
            raise Taken(f"the run {name!r} was not begun by the service") from None

    def history(self, name: str, first: int) -> Part:
        """Return lines of the history from byte `first` on, and the byte behind them."""
        return _whole_lines(self.folder(name) / "history.jsonl", first, HISTORY_BYTES)

    def rounds(self, name: str, first: int) -> list[Any]:
        """Return the rounds from number `first` on."""
        found, at = [], 0
        while (part := self.history(name, at)).next > at:
            at = part.next
            for line in part.text.splitlines():
                one = json.loads(line)
                if isinstance(one, dict) and one.get("number", 0) >= first:
                    found.append(one)
        return found

    def log(self, name: str, first: int | None = None) -> Part:
        """Return the output of a run's processes from byte `first` on, or its end."""
        path = Attempt(self.home / name, 0).log
        size = path.stat().st_size if path.is_file() and not path.is_symlink() else 0
        start = max(0, size - LOG_BYTES) if first is None else min(first, size)
        if not size:
            return Part("", 0)
        with open(path, "rb") as file:
            file.seek(start)
            found = file.read(LOG_BYTES)
        return Part(found.decode("utf-8", "replace"), start + len(found))

    # --- changes ---------------------------------------------------------------------------

    def add(self, name: str, config: str) -> dict[str, Any]:
        """Queue a new run; Taken if there is one of this name."""
        if (self.home / name).exists():
            raise Taken(f"the run {name!r} exists")
        words = ["--quiet", "train", str(self.home / name / "service" / "config.toml"),
                 "--run-dir", str(self.home / name)]  # fmt: skip
        self.queue.add(name, words, config)
        self.runner.wake()
        return self.facts(name)

    def resume(self, name: str, changes: list[str]) -> dict[str, Any]:
        """Queue a run to be resumed, with changed options."""
        folder = self.folder(name)
        self._check_idle(name, "resumed")
        task = parsed(self.config(name), "the configuration of the run").get("task")
        own = ["--task", task] if isinstance(task, str) and is_own_code(task) else []
        words = ["--quiet", "resume", str(folder), *own, *changes]
        self.queue.add(name, words)
        self.runner.wake()
        return self.facts(name)

    def stop(self, name: str) -> dict[str, Any]:
        """End a run after its round, or take it out of the queue."""
        facts = self.facts(name)
        if facts["state"] == "starting":  # its session would take the wish for an earlier one's
            raise Taken(f"the run {name!r} is starting; stop it once it runs")
        if facts["state"] not in ("waiting", "running"):
            raise Taken(f"the run {name!r} does not run: it is {facts['state']}")
        entry = self.queue.get(name)
        if entry is None:
            entry = Entry(name, 0.0, 0, OVER, [], "")  # begun by someone else
        self.runner.stop(entry)
        return self.facts(name)

    def delete(self, name: str, word: str) -> None:
        """Delete the folder of a run that does not run; `word` repeats its name."""
        self.facts(name)
        if word != name:
            raise Taken(f"the run is deleted only if the name is repeated: word={name}")
        self._check_idle(name, "deleted")
        entry = self.queue.get(name)
        if entry is not None and not self.queue.remove(entry):
            raise Taken(f"the run {name!r} has changed meanwhile")
        folder = self.home / name
        if folder.exists():
            aside = folder.with_name(f".deleted-{name}-{time.time_ns()}")
            folder.rename(aside)
            shutil.rmtree(aside)
        self._seen.pop(name, None)

    def _check_idle(self, name: str, what: str) -> None:
        """Refuse a run that waits or runs; wait for the end of a process that has written all."""
        state, until = self.facts(name)["state"], time.monotonic() + EXIT_S
        if state in ("waiting", "starting", "running"):
            raise Taken(f"the run {name!r} cannot be {what}: it is {state}")
        while Alive(self.home / name).held:
            if time.monotonic() > until:
                raise Taken(f"the run {name!r} cannot be {what}: its process has not ended yet")
            time.sleep(0.05)
        self.runner.settle(name)

    # --- events ----------------------------------------------------------------------------

    def signs(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield events of a run, as names with JSON, each when it is asked for; see events.py."""
        at, earlier = 0, ""
        while True:
            facts = self.facts(name)
            if is_run(self.home / name):
                part = self.history(name, at)
                at = part.next
                for line in part.text.splitlines():
                    yield "round", line
            shown = json_text({k: v for k, v in facts.items() if k != "age_s"})
            if shown != earlier:
                earlier = shown
                yield "state", json_text(facts)
            yield "", ""


def _is_coming(attempt: Attempt) -> bool:
    """Return whether the process of an attempt has yet to write its session's first state."""
    if not attempt.begun:
        return True
    return Alive(attempt.folder).held and not attempt.has_written(attempt.folder / STATE)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _whole_lines(path: Path, first: int, most: int) -> Part:
    """Return whole lines of a file from a byte on."""
    try:
        with open(path, "rb") as file:
            file.seek(first)
            found = file.read(most)
    except FileNotFoundError:
        return Part("", first)
    whole = found[: found.rfind(b"\n") + 1]
    return Part(whole.decode("utf-8", "replace"), first + len(whole))
