"""Tagging in 10 million dimensions: memory of a worker, and what the driver's vectors cost.

Run: python benchmarks/tagging_memory.py          (about 4 minutes; --quick: under a minute)

UD English EWT, XPOS tags, features and files as in tagging.py: 12,544 sentences, a dimension of
11.8 million. Workers: two processes do two fresh rounds and a cached one, as in memory.py; what a
worker has at its peak, beside its data, its planes and what an idle worker has, is given in vectors
of length dim. Driver: a training of some rounds with two threads, by the default solver and by
1-slack, whose cuts must be sparse. Its vector algebra is the phase "cuts" of the run.

Wanted: at most 4 vectors a worker; the phase "cuts" under 10% of the run.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

from memory import VECTORS, work, workers
from support import MB, machine, n_passes, rounds_s, table, ud_ewt, verdict
from tagging import TEMPLATES

from distsvm import TrainResult, train
from distsvm.executors import make_executor
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask

WANTED_SHARE = 0.1
LITTLE = 64
SOLVERS: dict[str, dict[str, Any]] = {
    "default": {},
    "1-slack, no cache": {"solver": "one-slack", "cache_size": 0},
    "1-slack, cache of 10": {"solver": "one-slack", "cache_size": 10},
}


def worker_table(path: str, little: str, cache_sizes: tuple[int, ...]) -> None:
    task, options = SequenceTask(), {"templates": TEMPLATES}
    with make_executor("serial", compiled=True) as compiling:  # a compiler needs memory, too
        work(compiling, task, little, 1, options)
    idle, rows = workers(task, little, 0, options), []
    for size in cache_sizes:
        full = workers(task, path, size, options)
        vector = 8 * full.dim
        beside = idle.held + full.data + full.cache
        held, peak = ((used - beside) / vector for used in (full.held, full.peak))
        rows.append(
            (size, f"{full.dim:,}", f"{vector / MB:.0f}", f"{full.data / MB:.1f}",
             f"{full.cache / MB:.1f}", f"{idle.held / MB:.0f}", f"{full.held / MB:.0f}",
             f"{full.peak / MB:.0f}", f"{held:.1f}", f"{peak:.1f}",
             verdict(peak <= VECTORS))
        )  # fmt: skip
    print("A worker's memory in MB; beside = (USS − idle − data − planes) / vector")
    table(
        ("planes an example", "dimension", "vector", "data", "planes", "idle", "USS", "peak",
         "beside, now", "at the peak", f"≤ {VECTORS}"),
        rows,
    )  # fmt: skip
    print()


def driver_table(path: str, n_rounds: int) -> None:
    rows = []
    for name, options in SOLVERS.items():
        result = train(
            SequenceTask(), ConlluData(path, templates=TEMPLATES), C=1_000.0, eps=0.0,
            max_rounds=n_rounds, executor="threads", n_workers=2, **options,
        )  # fmt: skip
        seconds, dim = result.seconds, result.model.task.dim
        total = rounds_s(result)
        share = seconds["cuts"] / total
        rows.append(
            (name, result.n_rounds, f"{n_passes(result):.0f}",
             result.n_cuts, cut_mb(result),
             f"{8 * dim / MB:.0f}", f"{total:.0f}",
             *(f"{100 * seconds[phase] / total:.1f}%" for phase in ("oracle", "cache", "qp")),
             f"{100 * share:.1f}%",
             verdict(share < WANTED_SHARE))
        )  # fmt: skip
    print("The driver, two threads; shares of the run without loading")
    table(
        ("solver", "rounds", "passes", "cuts", "MB a cut", "dense MB", "seconds",
         "oracle", "cache", "qp", "cuts", f"cuts < {100 * WANTED_SHARE:.0f}%"),
        rows,
    )  # fmt: skip


def cut_mb(result: TrainResult) -> str:
    return f"{result.memory['cuts'] / result.n_cuts / MB:.1f}" if result.n_cuts else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,500 sentences, fewer rounds")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        path = ud_ewt(folder, "train", 1_500 if args.quick else None)
        little = ud_ewt(other, "train", LITTLE)
        worker_table(path, little, (0, 10))
        driver_table(path, 20 if args.quick else 60)


if __name__ == "__main__":
    main()
