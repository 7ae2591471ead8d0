"""The cost model of `distsvm plan` against rounds that are measured here.

Run: python benchmarks/plan.py            (needs Ray; 64 actors take about 4 GB of memory)

Workers are real Ray actors of the Ray executor, whose oracle only sleeps: many of them fit on
few cores, and what a round takes beyond the sleep is what the model has to predict. Constants are
measured with few actors (--calibrate), and checked with many (--check): a ratio of 1 is exact,
above 1 the model expects more than was measured. Medians over rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from support import machine, peer, table

from distsvm.blas import one_thread
from distsvm.executors import make_executor
from distsvm.messages import Sums
from distsvm.planning.cost import MEASURED, Constants, Problem, plan


@dataclass(frozen=True)
class Sleeper:
    """A worker's shard whose oracle sleeps, and whose cut has a given length."""

    sleep_s: float
    dim: int

    def fresh(self, w: np.ndarray) -> Sums:
        time.sleep(self.sleep_s)
        return Sums(np.ones(self.dim), 0.0, 0.0, 1, 1, 0, 0, True)

    def own_bytes(self) -> float:
        return own_bytes()


@dataclass(frozen=True)
class Measured:
    """Median seconds of a round for each length of w; seconds to start and bytes of an actor."""

    round_s: dict[int, float]
    start_s: float
    worker_bytes: float


def own_bytes() -> float:
    """Return the memory that this process does not share."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return sum(1024.0 * int(line.split()[1]) for line in file if line.startswith("Private"))


def measured(n_workers: int, dims: Sequence[int], sleep_s: float, n_rounds: int) -> Measured:
    """Return rounds of n_workers actors, one shard each, for each of some lengths of w."""
    executor = make_executor("ray", n_workers, compiled=True, placement_timeout_s=600.0)
    medians, start_s, worker_bytes = {}, 0.0, 0.0
    try:
        for dim in dims:
            started = time.perf_counter()
            executor.start([partial(Sleeper, sleep_s, dim)] * n_workers)
            if not medians:
                start_s = (time.perf_counter() - started) / n_workers
                worker_bytes = statistics.median(executor.run("own_bytes"))
                print(f"{n_workers} actors in {start_s * n_workers:.1f} s", flush=True)
            w, times = np.zeros(dim), []
            for number in range(n_rounds + 2):
                started = time.perf_counter()
                executor.reduce("fresh", w, groups=[range(n_workers)])
                if number >= 2:  # the first ones connect
                    times.append(time.perf_counter() - started)
            medians[dim] = statistics.median(times)
    finally:
        executor.close()
    return Measured(medians, start_s, worker_bytes)


def put_rate(ray, n_bytes: int, n_times: int) -> float:
    """Bytes a second of ray.put."""
    array, times = np.zeros(n_bytes // 8), []
    for _ in range(n_times):
        started = time.perf_counter()
        ray.put(array)
        times.append(time.perf_counter() - started)
    return n_bytes / statistics.median(times)


def algebra_rate(dim: int, n_cuts: int, n_times: int) -> float:
    """Bytes a second of the products of one dense cut with others."""
    cuts, cut, times = [np.ones(dim) for _ in range(n_cuts)], np.ones(dim), []
    with one_thread():
        for _ in range(n_times):
            started = time.perf_counter()
            for other in cuts:
                other @ cut
            times.append(time.perf_counter() - started)
    return n_cuts * 8 * dim / statistics.median(times)


def calibrated(args: argparse.Namespace, ray) -> Constants:
    """The constants of this machine, now."""
    n, dim = args.calibrate, length(args.megabytes[-1])
    driver_bytes = own_bytes()
    found = measured(n, (1, dim), args.sleep, args.rounds)
    base, loaded = found.round_s[1] - args.sleep, found.round_s[dim] - args.sleep
    put = put_rate(ray, 8 * dim, 15)
    gathering_s = loaded - base - 8 * dim / put
    if base <= 0 or gathering_s <= 0:
        sys.exit("the machine is too busy: a round with more to gather took less time than without")
    return replace(
        MEASURED,
        call_s=base / n,
        put_bytes_s=put,
        gather_bytes_s=8 * dim * n / gathering_s,
        algebra_bytes_s=algebra_rate(dim, 20, 15),
        start_s=found.start_s,
        worker_bytes=found.worker_bytes,
        driver_bytes=driver_bytes,
    )


def length(megabytes: float) -> int:
    return max(1, int(megabytes * 1e6 / 8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", type=int, nargs="+", default=[32, 64], help="actors")
    parser.add_argument("--calibrate", type=int, default=8, help="actors (default 8)")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1.0, 20.0], help="of w")
    parser.add_argument("--sleep", type=float, default=1.0, help="seconds of oracle a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="16 actors, 1 MB, 5 rounds")
    args = parser.parse_args()
    if args.quick:
        args.check, args.megabytes, args.rounds, args.calibrate = [16], [1.0], 5, 4
    print(machine())
    ray = peer("ray")
    ray.init(
        address="local", num_cpus=max(args.check), include_dashboard=False, log_to_driver=False,
        logging_level="ERROR", object_store_memory=int(6e9),
    )  # fmt: skip
    try:
        own = calibrated(args, ray)
        print(f"\nConstants, measured with {args.calibrate} actors, and those of the package")
        here, package = asdict(own), asdict(MEASURED)
        names = [name for name in here if name != "network_bytes_s"]  # there is none to measure
        table(("", "here", "package"), [(n, f"{here[n]:.3g}", f"{package[n]:.3g}") for n in names])
        rows = []
        for n_workers in args.check:
            sizes = (0.0, *args.megabytes)
            found = measured(n_workers, [length(m) for m in sizes], args.sleep, args.rounds)
            for megabytes in sizes:
                dim, round_s = length(megabytes), found.round_s[length(megabytes)]
                problem = Problem(n_workers, dim, args.sleep, cuts=1)
                ours, shipped = (
                    plan(problem, n_workers, n_workers, c).seconds["round"] for c in (own, MEASURED)
                )
                rows.append((
                    n_workers, f"{megabytes:g} MB" if megabytes else "scalars", f"{round_s:.3f}",
                    f"{round_s - args.sleep:.3f}", f"{ours:.3f}", f"{ours / round_s:.2f}",
                    f"{shipped:.3f}", f"{shipped / round_s:.2f}",
                ))  # fmt: skip
        print(f"\nA round of {args.sleep:g} s of oracle, seconds; predicted with the constants of "
              "here and of the package")  # fmt: skip
        table(("actors", "w and cut", "measured", "beyond the oracle", "predicted", "ratio",
               "package's", "ratio"), rows)  # fmt: skip
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
