"""Memory that really runs out: who takes too much of it is killed by the kernel, or by Ray."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from distsvm.executors.oom import memory_groups

BLOCK_BYTES = 2**24
MOST_BYTES = 4 * 2**30  # that are ever taken, should nobody mind
# What limits memory, and what keeps it from being swapped instead, in versions 1 and 2.
LIMITS = {
    "memory.limit_in_bytes": "memory.memsw.limit_in_bytes",
    "memory.max": "memory.swap.max",
}


def hoard(before_each: Callable[[], object] = lambda: None) -> None:
    """Take more and more memory until somebody puts an end to this process."""
    Path("/proc/self/oom_score_adj").write_text("1000")  # to this one, not to another
    blocks = []
    for _ in range(MOST_BYTES // BLOCK_BYTES):
        before_each()
        blocks.append(b"x" * BLOCK_BYTES)
    threading.Event().wait()  # for the end, if that is still to come


def start_ray(n_bytes: int) -> None:
    """A Ray of this process's own that kills workers once so much more is in use than now."""
    import ray

    memory = psutil.virtual_memory()
    threshold = (memory.total - memory.available + n_bytes) / memory.total
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
        logging_level="ERROR", object_store_memory=100_000_000,
        _system_config={"memory_usage_threshold": threshold, "memory_monitor_refresh_ms": 100},
    )  # fmt: skip


@dataclass(frozen=True)
class Group:
    """A memory cgroup."""

    folder: Path

    def enter(self) -> None:
        """Have this process, and what it starts from now on, live in it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def command(self, *words: str) -> list[str]:
        """Runs these words inside of the group."""
        return [
            "sh",
            "-c",
            'echo $$ > "$0" && exec "$@"',
            str(self.folder / "cgroup.procs"),
            *words,
        ]

    def processes(self) -> list[psutil.Process]:
        found = []
        for pid in (self.folder / "cgroup.procs").read_text().split():
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(pid)))
        return found

    def end_all(self) -> None:
        """Kill every process that is in it."""
        left = self.processes()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
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
