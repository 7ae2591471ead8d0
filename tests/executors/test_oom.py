"""Where the kernel counts its kills: in the cgroup of this process, or for the whole machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from distsvm.executors.oom import OomKills

# /proc/self/cgroup, the root and type of the mount, and the counter's place below the mount point.
SYSTEMS = {
    "version 1": ("4:cpu,memory:/jobs/7\n0::/\n", "/ cgroup rw,cpu,memory", "jobs/7"),
    "version 1, in a container": ("4:memory:/docker/ab\n", "/docker/ab cgroup rw,memory", ""),
    "version 1, of another tree": ("4:memory:/jobs/7\n", "/docker/ab cgroup rw,memory", ""),
    "version 2": ("0::/user.slice/run-1.scope\n", "/ cgroup2 rw", "user.slice/run-1.scope"),
    "version 2, in a container": ("0::/\n", "/ cgroup2 rw,nsdelegate", ""),
}


def system(folder: Path, groups: str, mount: str) -> tuple[Path, Path]:
    """A folder like /proc, and the place where a file system of cgroups is mounted."""
    root, kind, options = mount.split()
    (folder / "self").mkdir()
    (folder / "cgroups").mkdir()
    (folder / "self" / "cgroup").write_text(groups)
    (folder / "self" / "mountinfo").write_text(
        "31 23 0:28 / /sys rw,relatime - sysfs sysfs rw\n"
        f"35 31 0:32 {root} {folder}/cgroups rw,relatime shared:9 - {kind} {kind} {options}\n"
    )
    (folder / "vmstat").write_text("nr_free_pages 5\noom_kill 100\n")
    return folder, folder / "cgroups"


@pytest.mark.parametrize("name", SYSTEMS)
def test_kills_are_counted_in_the_cgroup_of_this_process(name, tmp_path):
    groups, mount, place = SYSTEMS[name]
    proc, mounted = system(tmp_path, groups, mount)
    (mounted / place).mkdir(parents=True, exist_ok=True)
    version_1 = "version 1" in name
    counter = mounted / place / ("memory.oom_control" if version_1 else "memory.events")
    text = "under_oom 0\noom_kill {}\n" if version_1 else "max 9\noom 8\noom_kill {}\n"
    counter.write_text(text.format(3))
    kills = OomKills(proc)
    assert not kills.one_more()
    (proc / "vmstat").write_text("oom_kill 101\n")  # of somebody else
    assert not kills.one_more()
    counter.write_text(text.format(5))
    assert [kills.one_more() for _ in range(3)] == [True, True, False]


def test_kills_of_the_machine_count_where_the_cgroup_does_not_count(tmp_path):
    proc, _ = system(tmp_path, "0::/\n", "/ cgroup2 rw")  # at the root there is no such file
    kills = OomKills(proc)
    (proc / "vmstat").write_text("nr_free_pages 1\noom_kill 101\n")
    assert [kills.one_more() for _ in range(2)] == [True, False]


def test_a_system_that_counts_nothing_has_killed_nobody(tmp_path):
    assert not OomKills(tmp_path).one_more()
