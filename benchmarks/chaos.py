"""Random workers killed during training: kills survived, time lost, difference in objective.

Run: python benchmarks/chaos.py [--executor ray] [--solver multi-plane] [--storm] [--seed 0]

A run of some minutes, while a thread kills a worker with SIGKILL every few seconds, whatever it is
at: loading, in an oracle call, between rounds, being built again. Victims and pauses are drawn from
the seed. It is compared with the same run without kills: the objective may differ by no more than
C·eps, and no process may be left. Else the code is 1.

With --storm one, two or all of three workers are killed or stopped every 0.3 to 2.5 s, about as
often as a worker can be built again: the run must still end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import psutil
from support import machine, table

from distsvm import MulticlassTask, TrainResult, train
from distsvm.data.synthetic import make_multiclass


class Killer(threading.Thread):
    """Kills random workers of this process's executor after random pauses.

    Parameters
    ----------
    pauses_s : the shortest and the longest pause
    most : workers at once
    signals : what they are sent
    """

    def __init__(
        self, seed: int, pauses_s: tuple[float, float], most: int = 1,
        signals: Sequence[int] = (signal.SIGKILL,),
    ) -> None:  # fmt: skip
        super().__init__(daemon=True)
        self.draw, self.pauses_s = random.Random(seed), pauses_s
        self.most, self.signals = most, signals
        self.n_kills, self.ended = 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(self.draw.uniform(*self.pauses_s)):
            found = sorted(workers())
            n_victims = min(len(found), self.draw.randint(1, self.most))
            for pid in self.draw.sample(found, n_victims):
                self.kill(pid, self.draw.choice(self.signals))

    def kill(self, pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
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


def config_of(solver: str) -> dict[str, Any]:
    config = {"C": 1e3, "eps": 1e-2, "n_shards": 8}
    return config | ({"cache_size": 3} if solver == "one-slack" else {})


def trained(args: argparse.Namespace) -> tuple[TrainResult, float]:
    """A run, and the seconds that it took."""
    dim, n_classes = (40, 6) if args.storm else (60, 8)
    data = make_multiclass(args.examples, dim, n_classes, noise=0.1, seed=1, dtype=np.float32)
    started = time.perf_counter()
    result = train(
        MulticlassTask(), data, executor=args.executor, n_workers=args.workers, solver=args.solver,
        executor_options={"max_failures": 1000, "worker_timeout_s": args.timeout},
        **config_of(args.solver),
    )  # fmt: skip
    return result, time.perf_counter() - started


def row(name: str, result: TrainResult, spent_s: float, n_kills: int) -> list[object]:
    return [name, f"{spent_s:.1f}", n_kills, result.history[-1].n_restarts, result.n_rounds,
            result.n_oracle_calls // result.n_examples, f"{result.primal:.6f}",
            f"{result.dual:.6f}", result.stop_reason]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", default="processes", choices=("processes", "ray"))
    parser.add_argument("--solver", default="one-slack", choices=("one-slack", "multi-plane"))
    parser.add_argument("--pause", type=float, default=4.0, metavar="S", help="between two kills")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--examples", type=int, default=3_000_000, help="time grows with them")
    parser.add_argument("--quick", action="store_true", help="20,000 examples, a kill every 3 s")
    parser.add_argument(
        "--storm", action="store_true", help="20,000 examples, 3 workers, some every 0.3 to 2.5 s"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.timeout = 30.0
    if args.quick:
        args.examples, args.pause = 20_000, 3.0
    killer = Killer(args.seed, (0.5 * args.pause, 1.5 * args.pause))
    if args.storm:
        args.examples, args.workers, args.timeout = 20_000, 3, 4.0
        signals = (signal.SIGKILL, signal.SIGSTOP)
        killer = Killer(args.seed, (0.3, 2.5), args.workers, signals)
    print(machine())
    peace, peace_s = trained(args)
    print(f"in peace: {peace_s:.1f} s", flush=True)
    killer.start()
    result, spent_s = trained(args)
    killer.ended.set()
    killer.join()
    table(
        ["run", "s", "kills", "rebuilt", "rounds", "passes", "primal", "dual", "ended by"],
        [row("in peace", peace, peace_s, 0), row("in chaos", result, spent_s, killer.n_kills)],
    )
    apart, allowed = abs(result.primal - peace.primal), result.C * result.eps
    print(f"{killer.n_kills} kills survived, seed {args.seed}; primal values are {apart:.2e} "
          f"apart, C·eps is {allowed:.0e}")  # fmt: skip
    if killer.n_kills:
        print(f"time lost: {(spent_s - peace_s) / killer.n_kills:.1f} s a kill, "
              f"{spent_s / peace_s:.2f} times as long in all")  # fmt: skip
    left = workers()
    if apart > allowed or result.stop_reason != "eps" or left:
        sys.exit(f"another optimum, or {len(left)} processes left")


if __name__ == "__main__":
    main()
