"""Serial, threads and processes open no socket that anybody could reach."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
import os, socket, sys
from pathlib import Path
import distsvm
from distsvm.data.synthetic import make_multiclass
from distsvm.training.callbacks import Callback


def family(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    return [pid, *(p for child in children for p in family(child))]


def sockets():
    "Local addresses of all IP sockets of this process and of those that it started."
    owned = set()
    for pid in family(os.getpid()):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                owned.add(os.readlink(handle))
            except FileNotFoundError:
                pass
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in owned:
                found.append((table, fields[1]))
    return found


class Look(Callback):
    def on_round(self, record):
        seen.append((len(family(os.getpid())), sockets()))


if __name__ == "__main__":
    X, y = make_multiclass(60, 4, 3)
    for executor in ("serial", "threads", "processes"):
        seen = []
        options = {} if executor == "serial" else {"n_workers": 2}
        distsvm.train(
            distsvm.MulticlassTask(), (X, y), executor=executor, max_rounds=2, callbacks=[Look()],
            **options,
        )
        assert seen, executor
        assert all(not open_ for _, open_ in seen), (executor, seen)
        assert executor != "processes" or seen[0][0] >= 3, seen
    with socket.create_server(("127.0.0.1", 0)):
        assert len(sockets()) == 1  # it would be seen
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_local_executors_open_no_ip_socket(tmp_path):
    script = tmp_path / "look.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
