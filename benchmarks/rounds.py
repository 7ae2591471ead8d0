"""What a round costs beyond the oracle: actors that only sleep, and what they send home.

Run: python benchmarks/rounds.py                      (2, 8, 32 and 64 actors: about 5 minutes)
     python benchmarks/rounds.py --actors 2,8 --quick (a minute)

Every actor hosts one shard whose round sleeps for a fixed time and returns the sums of a round: a
short vector, a sparse one of 1 MB, or a dense one of 20 MB. The driver sends w and adds the sums
along its tree, as in training. Overhead = seconds of a round − the sleep, the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial

import numpy as np
from support import machine, table

from distsvm.executors import make_executor
from distsvm.messages import Sums
from distsvm.vectors import SparseVector, Vector

SLEEP_S = 0.2
DIM = 2_500_000  # dense, 20 MB
STORED = 83_000  # of 12 bytes, 1 MB


def sums(a: Vector) -> Sums:
    return Sums(a=a, b=0.0, upper=0.0, n_fresh=1, n_calls=1, n_hits=0, n_planes=0, exact=True)


class Sleeper:
    """A shard whose oracle takes SLEEP_S, whatever it is asked."""

    def __init__(self, shard: int) -> None:
        draw = np.random.default_rng(shard)
        index = np.sort(draw.choice(DIM, STORED, replace=False)).astype(np.int32)
        self.vectors: dict[str, Vector] = {
            "scalars": np.zeros(1),
            "1 MB sparse": SparseVector(index, draw.standard_normal(STORED), DIM),
            "20 MB dense": draw.standard_normal(DIM),
        }

    def round(self, w: np.ndarray, kind: str) -> Sums:
        time.sleep(SLEEP_S)
        return sums(self.vectors[kind])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--actors", default="2,8,32,64", help="how many, by commas")
    parser.add_argument("--executor", default="ray", choices=("ray", "processes"))
    parser.add_argument("--quick", action="store_true", help="3 rounds of each instead of 11")
    args = parser.parse_args()
    n_rounds = 3 if args.quick else 11
    print(machine())
    print(
        f"{args.executor}; sleep {SLEEP_S} s; w has as many entries as the sums; {n_rounds} rounds"
    )
    rows = []
    for n_actors in map(int, args.actors.split(",")):
        options = {"placement_timeout_s": 300.0} if args.executor == "ray" else {}
        with make_executor(args.executor, n_actors, compiled=False, **options) as executor:
            executor.start([partial(Sleeper, shard) for shard in range(n_actors)])
            rows.append([n_actors, *(overhead(executor, n_actors, k, n_rounds) for k in KINDS)])
            table(["actors", *(f"{kind}: s" for kind in KINDS)], rows[-1:])
    print()
    table(["actors", *(f"{kind}: s" for kind in KINDS)], rows)


KINDS = ("scalars", "1 MB sparse", "20 MB dense")


def overhead(executor, n_actors: int, kind: str, n_rounds: int) -> str:
    w = np.zeros(1 if kind == "scalars" else DIM)
    times = []
    for _ in range(n_rounds + 1):
        started = time.perf_counter()
        executor.reduce("round", w, kind, groups=[range(n_actors)])
        times.append(time.perf_counter() - started - SLEEP_S)
    return f"{statistics.median(times[1:]):.3f}"


if __name__ == "__main__":
    main()
