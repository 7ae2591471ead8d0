"""A task that fails in every way a worker can, once; importable from every worker process."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

import psutil
from scarce_memory import hoard
from toy_tasks import ToyChain, toy_chains

INPUTS, OUTPUTS = toy_chains(n=40)
CONFIG = {"C": 20.0, "eps": 1e-3, "n_shards": 4}


def first(path: str) -> bool:
    """Whether nobody has been here before."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def fail(how: str) -> None:
    """What a worker may do in the middle of an oracle call."""
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "stop":  # as a machine that the network has lost: alive, and never heard of again
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "half":  # the next answer stops within its first bytes
        write = os.writev

        def stop(pipe: int, parts: list[memoryview]) -> int:
            write(pipe, [parts[0][:3]])
            os.kill(os.getpid(), signal.SIGSTOP)
            raise AssertionError("it goes on")

        os.writev = stop
    elif how == "hang":  # alive, and never done
        threading.Event().wait()
    elif how == "memory":
        raise MemoryError("no more")
    elif how == "starve":
        hoard()
    elif how == "exit":
        os._exit(3)


@dataclass(frozen=True)
class Faulty(ToyChain):
    """Fails at the `after`-th oracle call of a process, if no other process has before."""

    folder: str = ""
    how: str = "kill"
    after: int = 60

    def separate(self, w, x, y, rescaling):
        calls = os.path.join(self.folder, f"calls-{os.getpid()}")
        with open(calls, "a") as file:
            file.write(".")
        if os.path.getsize(calls) >= self.after and first(os.path.join(self.folder, "failed")):
            Path(self.folder, "victim").write_text(str(os.getpid()))
            fail(self.how)
        return super().separate(w, x, y, rescaling)


def shared_memory() -> set[str]:
    """The blocks of multiprocessing that exist now."""
    return {path.name for path in Path("/dev/shm").glob("psm_*")}


def rounds(result) -> list[tuple]:
    """What must not depend on where a run took place: bounds, and how often whom was asked."""
    return [(r.kind, r.primal, r.dual, r.n_oracle_calls, r.n_planes) for r in result.history]


def children() -> set[int]:
    """Every process that this one has started, and what those have."""
    return {process.pid for process in psutil.Process().children(recursive=True)}
