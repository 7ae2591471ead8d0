"""Training for a long time: whether memory, open files and shared memory stay as they are.

Run: python benchmarks/soak.py [--minutes 30] [--executor ray] [--solver multi-plane]

Runs with checkpoints, one after another in one process. After each, what the driver and the workers
hold for themselves (USS; pages shared with others are not counted), open files of the driver, and
blocks in /dev/shm. The table has the medians of each tenth of the runs; the first tenth is for
warming up. Ends with code 1 if anything has grown.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import psutil
from chaos import config_of, workers
from memory import uss
from support import MB, machine, table

from distsvm import Callback, MulticlassTask, train
from distsvm.data.synthetic import make_multiclass

N_PARTS, LEAST_RUNS = 10, 4


@dataclass(frozen=True)
class Sample:
    at_s: float
    driver_mb: float
    workers_mb: float
    n_files: int
    n_blocks: int


class Watch(Callback):
    """Looks when a run has ended and its workers are still there."""

    def __init__(self) -> None:
        self.started, self.samples = time.perf_counter(), []

    def on_end(self, result) -> None:
        own = psutil.Process()
        held = [uss(psutil.Process(pid)) for pid in workers()]
        self.samples.append(
            Sample(
                at_s=time.perf_counter() - self.started,
                driver_mb=uss(own) / MB,
                workers_mb=sum(held) / MB,
                n_files=own.num_fds(),
                n_blocks=len(list(Path("/dev/shm").glob("psm_*"))),
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--executor", default="processes", choices=("threads", "processes", "ray"))
    parser.add_argument("--solver", default="one-slack", choices=("one-slack", "multi-plane"))
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--most", type=float, default=1.05, metavar="RATIO",
                        help="of the last tenth to the second that counts as flat")  # fmt: skip
    args = parser.parse_args()
    print(machine())
    watch, data = Watch(), make_multiclass(args.examples, 60, 8, noise=0.1, seed=1)
    if args.executor == "ray":
        import ray

        ray.init(address="local", include_dashboard=False, log_to_driver=False)
    end_s = watch.started + 60 * args.minutes
    while time.perf_counter() < end_s or len(watch.samples) < LEAST_RUNS:
        with tempfile.TemporaryDirectory() as folder:
            train(
                MulticlassTask(), data, executor=args.executor, n_workers=2, callbacks=[watch],
                solver=args.solver, run_dir=Path(folder) / "run", checkpoint_rounds=50,
                **config_of(args.solver),
            )  # fmt: skip
    parts = [median(part) for part in tenths(watch.samples)]
    table(
        ["minute", "runs", "driver MB", "workers MB", "files", "blocks"],
        [(f"{p.at_s / 60:.3g}", n, f"{p.driver_mb:.1f}", f"{p.workers_mb:.1f}", p.n_files,
          p.n_blocks) for p, n in parts],
    )  # fmt: skip
    (first, _), (last, _) = parts[1], parts[-1]
    grown = []
    for name in ("driver_mb", "workers_mb", "n_files", "n_blocks"):
        before, after = getattr(first, name), getattr(last, name)
        ratio = after / before if before else 1.0 + after
        print(f"{name}, last tenth against the second: {ratio:.3f}")
        grown += [name] if ratio > args.most else []
    if grown:
        sys.exit(f"not flat: {', '.join(grown)}")


def tenths(samples: list[Sample]) -> list[list[Sample]]:
    """The runs in ten parts, or as many as there are runs."""
    n_parts = min(N_PARTS, len(samples))
    edges = [len(samples) * part // n_parts for part in range(n_parts + 1)]
    return [samples[low:high] for low, high in pairwise(edges)]


def median(samples: list[Sample]) -> tuple[Sample, int]:
    """The medians of some runs, and of how many."""
    names = [field.name for field in fields(Sample)]
    middle = (statistics.median_low([getattr(s, name) for s in samples]) for name in names)
    return Sample(*middle), len(samples)


if __name__ == "__main__":
    main()
