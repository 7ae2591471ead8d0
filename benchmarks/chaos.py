"""Random workers killed during training: kills survived, time lost, difference in objective.

Run: python benchmarks/chaos.py [--executor ray] [--minutes 3] [--seed 0]

The same problem is trained again and again until the time is up, while a thread kills a worker
with SIGKILL every few seconds, whatever it is at: loading, in an oracle call, between rounds, being
built again. Victims and pauses are drawn from the seed. Each run is compared with one that was left
in peace: its objective must differ by no more than C·eps.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time

import psutil
from support import machine, table

from distsvm import MulticlassTask, TrainResult, train
from distsvm.data.synthetic import make_multiclass

CONFIG = {"C": 1e3, "eps": 1e-2, "n_shards": 8, "cache_size": 3}


class Killer(threading.Thread):
    """Kills a random worker of this process's executor after random pauses."""

    def __init__(self, seed: int, pause_s: float) -> None:
        super().__init__(daemon=True)
        self.draw, self.pause_s = random.Random(seed), pause_s
        self.n_kills, self.ended = 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(self.draw.uniform(0.5, 1.5) * self.pause_s):
            victims = sorted(workers())
            if victims:
                self.kill(self.draw.choice(victims))

    def kill(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.n_kills += 1


def workers() -> list[int]:
    """The processes of workers: children of ours, or actors of the Ray that we have started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if "HostActor" in words or "spawn_main" in words:
            found.append(process.pid)
    return found


def trained(args: argparse.Namespace) -> TrainResult:
    data = make_multiclass(args.examples, 60, 8, noise=0.5, seed=1)
    return train(
        MulticlassTask(), data, executor=args.executor, n_workers=args.workers,
        executor_options={"max_failures": 1000}, **CONFIG,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--pause", type=float, default=4.0, metavar="S", help="between two kills")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--examples", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(machine())
    trained(args)  # compile
    started = time.perf_counter()
    peace = trained(args)
    peace_s = time.perf_counter() - started
    print(f"in peace: {peace_s:.1f} s, primal {peace.primal:.6f}, dual {peace.dual:.6f}",
          flush=True)  # fmt: skip
    killer, rows = Killer(args.seed, args.pause), []
    killer.start()
    end = time.perf_counter() + 60 * args.minutes
    while time.perf_counter() < end:
        before, started = killer.n_kills, time.perf_counter()
        result = trained(args)
        spent_s, n_kills = time.perf_counter() - started, killer.n_kills - before
        apart = abs(result.primal - peace.primal)
        assert apart <= result.C * result.eps, "another optimum"
        assert result.stop_reason == "eps"
        lost_s = (spent_s - peace_s) / n_kills if n_kills else 0.0
        rows.append([n_kills, result.history[-1].n_restarts, f"{spent_s:.1f}", f"{lost_s:.1f}",
                     f"{apart:.2e}", f"{result.C * result.eps:.0e}"])  # fmt: skip
        print(f"{n_kills} kills survived in {spent_s:.1f} s", flush=True)
    killer.ended.set()
    killer.join()
    table(["kills", "rebuilt", "s", "s lost a kill", "primal apart", "C·eps"], rows)
    print(f"{sum(row[0] for row in rows)} kills survived in {len(rows)} runs, seed {args.seed}; "
          f"processes left: {len(workers())}")  # fmt: skip


if __name__ == "__main__":
    main()
