"""How long it takes to notice a fault of a worker, and to recover from it.

Run: python benchmarks/faults.py [--executor ray] [--timeout 5]    (about a minute)

Two workers with two shards each; one of them fails in the middle of a call. Noticed: from the fault
until the driver logs it. Recovered: until the call has its answer, the same as without the fault.
A worker that is silent or hangs is noticed after the time limit (worker_timeout_s, 30 s unless
set), whatever else happens; the limit here is short, so that the rest shows.
Out of memory is measured twice: as an error that the worker survives, and, where it can be had, as
a kill: by the kernel in a memory cgroup, or by Ray's memory monitor. It begins with the last block
of 16 MB that the worker allocated.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from support import machine, spawned, table

from distsvm.executors import make_executor

sys.path.append(str(Path(__file__).parents[1] / "tests" / "faults"))

from scarce_memory import Group, hoard, limited, start_ray

SPARE_BYTES = 2**31  # enough for a driver and two workers at rest
STARVED = "out of memory (killed)"


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def hang() -> None:
    threading.Event().wait()


def starve() -> None:
    raise MemoryError


FAULTS = {
    "killed": kill,
    "exits": partial(os._exit, 3),
    "stopped (silent)": stop,
    "hangs": hang,
    "out of memory (error)": starve,
}


class Shard:
    def __init__(self, number: int) -> None:
        self.number = number

    def answer(self, folder: str, fault: str) -> int:
        begun = Path(folder, "begun")
        if self.number == 2 and fault and not begun.exists():
            begun.touch()
            hoard(before_each=begun.touch) if fault == STARVED else FAULTS[fault]()
        return self.number


class Notes(logging.Handler):
    """Keeps the first log record of the driver."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record


def measured(executor: str, fault: str, timeout_s: float) -> list[object]:
    notes = Notes()
    logging.getLogger("distsvm").addHandler(notes)
    with (
        tempfile.TemporaryDirectory() as folder,
        make_executor(executor, 2, compiled=False, worker_timeout_s=timeout_s) as workers,
    ):
        workers.start([partial(Shard, number) for number in range(4)])
        workers.run("answer", folder, "")
        answers = workers.run("answer", folder, fault)
        ended = time.time()
        began = Path(folder, "begun").stat().st_mtime
    logging.getLogger("distsvm").removeHandler(notes)
    assert answers == [0, 1, 2, 3]
    assert notes.first is not None
    answer = notes.first.getMessage().rpartition("; ")[2]
    return [fault, f"{notes.first.created - began:.2f}", f"{ended - began:.2f}", answer]


def starved(executor: str, timeout_s: float) -> list[object]:
    """The same of a real kill, as far as it can be had."""
    if executor == "ray":
        start_ray(SPARE_BYTES)  # which ends with this program
        return measured(executor, STARVED, timeout_s)
    try:
        with limited(SPARE_BYTES) as group:
            ours, process = spawned(starved_in, group, timeout_s)
            row = ours.recv()
            process.join()
            return row
    except OSError as error:
        return [STARVED, "", "", f"cannot be had here: {error}"]


def starved_in(pipe: Connection, group: Group, timeout_s: float) -> None:
    """In a process of its own, which lives in the group with all its workers."""
    group.enter()
    pipe.send(measured("processes", STARVED, timeout_s))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S")
    args = parser.parse_args()
    print(machine())
    print(f"{args.executor}, worker_timeout_s={args.timeout:g}")
    logging.getLogger("distsvm").propagate = False
    # unlike multiprocessing, Ray does not hand on sys.path
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    rows = [measured(args.executor, fault, args.timeout) for fault in FAULTS]
    rows.append(starved(args.executor, args.timeout))
    table(["fault", "noticed s", "recovered s", "what was done"], rows)


if __name__ == "__main__":
    main()
