"""A memory cgroup with a limit: beyond it the kernel really kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from distsvm.executors.oom import memory_groups

# What limits memory, and what keeps it from being swapped instead, in versions 1 and 2.
LIMITS = {
    "memory.limit_in_bytes": "memory.memsw.limit_in_bytes",
    "memory.max": "memory.swap.max",
}


@dataclass(frozen=True)
class Group:
    folder: Path

    def command(self, *words: str) -> list[str]:
        """Runs these words inside of the group."""
        return [
            "sh",
            "-c",
            'echo $$ > "$0" && exec "$@"',
            str(self.folder / "cgroup.procs"),
            *words,
        ]

    def processes(self) -> set[int]:
        return set(map(int, (self.folder / "cgroup.procs").read_text().split()))

    def end_all(self) -> None:
        """Kill every process that is in it."""
        left = []
        for pid in self.processes():
            with suppress(psutil.NoSuchProcess):
                left.append(psutil.Process(pid))
                left[-1].send_signal(signal.SIGKILL)
        psutil.wait_procs(left, timeout=30)


def why_not() -> str:
    """Why no such group can be made here, or an empty text."""
    try:
        with limited(2**30):
            return ""
    except OSError as error:
        return f"no memory cgroup: {error}"


@contextmanager
def limited(n_bytes: int) -> Iterator[Group]:
    """A new group of at most so many bytes; it ends with all that is in it."""
    group = Group(_made())
    try:
        for limit, swap in LIMITS.items():
            if (group.folder / limit).exists():
                (group.folder / limit).write_text(str(n_bytes))
            if (group.folder / swap).exists():
                (group.folder / swap).write_text(str(n_bytes) if "memsw" in swap else "0")
        yield group
    finally:
        group.end_all()
        group.folder.rmdir()


def _made() -> Path:
    """A group below our own; or beside it, where processes keep a group from having such below."""
    tried = "there is no cgroup here"
    for own in memory_groups():
        for parent in (own, own.parent):
            folder = parent / f"distsvm-test-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError as error:
                tried = str(error)
                continue
            if any((folder / limit).exists() for limit in LIMITS):
                return folder
            folder.rmdir()
            tried = f"{parent} has no limit of memory to give"
    raise OSError(tried)
