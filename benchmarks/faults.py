"""How long it takes to notice a fault of a worker, and to recover from it.

Run: python benchmarks/faults.py [--executor ray] [--timeout 5]    (about a minute)

Two workers with two shards each; one of them fails in the middle of a call. Noticed: from the fault
until the driver says so. Recovered: until the call has its answer, the same as without the fault.
A worker that is silent or hangs is noticed after the time limit (worker_timeout_s, 30 s unless
set), whatever else happens; the limit here is short, so that the rest shows.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from support import machine, table

from distsvm.executors import make_executor


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
    "out of memory": starve,
}


class Shard:
    def __init__(self, number: int) -> None:
        self.number = number

    def answer(self, folder: str, fault: str) -> int:
        if self.number == 2 and fault and not os.path.exists(f"{folder}/{fault}"):
            Path(folder, fault).write_text(str(time.time()))
            FAULTS[fault]()
        return self.number


class Notes(logging.Handler):
    """Remembers when the driver first said something."""

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
        began = float(Path(folder, fault).read_text())
    logging.getLogger("distsvm").removeHandler(notes)
    assert answers == [0, 1, 2, 3]
    assert notes.first is not None
    answer = notes.first.getMessage().rpartition("; ")[2]
    return [fault, f"{notes.first.created - began:.2f}", f"{ended - began:.2f}", answer]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S")
    args = parser.parse_args()
    print(machine())
    print(f"{args.executor}, worker_timeout_s={args.timeout:g}")
    logging.getLogger("distsvm").propagate = False
    rows = [measured(args.executor, fault, args.timeout) for fault in FAULTS]
    table(["fault", "noticed s", "recovered s", "what was done"], rows)


if __name__ == "__main__":
    main()
