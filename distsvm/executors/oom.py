"""Processes that the system has killed because memory ran out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_COUNTERS = ("memory.oom_control", "memory.events")  # of cgroups of version 1 and 2


class OomKills:
    """Out-of-memory kills in this process's cgroup, counted one by one.

    A signal alone has no cause. The kernel counts its kills in the cgroup of the killed process,
    and worker processes are in that of the driver.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._counter = _counter(proc)
        self._n_known = self._count()

    def one_more(self) -> bool:
        """Return whether there is a kill that no earlier call has counted."""
        if self._count() <= self._n_known:
            return False
        self._n_known += 1
        return True

    def _count(self) -> int:
        """OOM kills so far; 0 if the kernel has no counter."""
        try:
            lines = self._counter.read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        counts = dict(line.split(maxsplit=1) for line in lines if " " in line)
        return int(counts.get("oom_kill", 0))


def memory_groups(proc: Path = Path("/proc")) -> Iterator[Path]:
    """Return the folders of the cgroups, at most one a version, that may limit this process."""
    try:
        mounts = (proc / "self" / "mountinfo").read_text(encoding="utf-8").splitlines()
        groups = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    own = {tuple(names.split(",")): path for _, names, path in (g.split(":", 2) for g in groups)}
    for mount in mounts:
        before, _, after = mount.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        for names, path in own.items():
            version_1 = kind == "cgroup" and "memory" in names and "memory" in options.split(",")
            if version_1 or (kind == "cgroup2" and names == ("",)):
                # a container may see only its own branch of the tree
                seen = Path(path).is_relative_to(root)
                yield Path(point, Path(path).relative_to(root)) if seen else Path(point)


def _counter(proc: Path) -> Path:
    """Return the file that counts the kills: that of the cgroup, else that of the machine."""
    for group in memory_groups(proc):
        for name in _COUNTERS:
            if (group / name).exists():
                return group / name
    return proc / "vmstat"
