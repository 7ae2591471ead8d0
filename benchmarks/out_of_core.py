"""Out of core: training on a set several times larger than the memory that the workers are given.

Run: python benchmarks/out_of_core.py             (some minutes; --quick: a few)

Rows of float32 are written to Parquet files, a part at a time. Two worker processes train on them
with worker_memory_mb, and their peak USS (unique set size) is printed beside that limit; so is the
driver's, for two sizes of the data, of which it must not depend. The smaller set is also trained on
in memory: the same bits, and what it takes there. A second start on the larger one finds its
examples packed. Peaks are sampled every 20 ms.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from memory import Peaks
from support import MB, machine, rounds_s, spawned, table

from distsvm import MulticlassTask, train
from distsvm.data.writers import write_parquet

N_COLUMNS, N_CLASSES, N_WORKERS = 64, 5, 2
PART_ROWS = 100_000


def write(folder: str, n_mb: int) -> list[str]:
    """Files of about so many megabytes of features in all."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(N_CLASSES, N_COLUMNS))
    paths = []
    for number in range(max(2, round(n_mb * MB / (4 * N_COLUMNS * PART_ROWS)))):
        y = rng.integers(0, N_CLASSES, PART_ROWS)
        X = (0.3 * centres[y] + rng.normal(size=(PART_ROWS, N_COLUMNS))).astype(np.float32)
        paths.append(os.path.join(folder, f"part-{number:05d}.parquet"))
        write_parquet(paths[-1], X, y)
    return paths


@dataclass(frozen=True)
class Use:
    """Peaks of the driver and of the worker that took the most, and what came out."""

    driver: int
    worker: int
    n_examples: int
    load_s: float
    round_s: float
    digest: str


def drive(answer: Any, paths: list[str], options: dict[str, Any]) -> None:
    """In a fresh process: train, and tell what came out."""
    result = train(
        MulticlassTask(), paths, C=100.0, eps=0.0, executor="processes", n_workers=N_WORKERS,
        **options,
    )  # fmt: skip
    load_s, round_s = result.seconds["load"], rounds_s(result) / result.n_rounds
    w = hashlib.blake2b(result.model.w.tobytes(), digest_size=8).hexdigest()
    answer.send((result.n_examples, load_s, round_s, w))


def used(paths: list[str], **options: Any) -> Use:
    """Train in a process of its own, watched from here."""
    ours, process = spawned(drive, paths, options)
    driver = psutil.Process(process.pid)
    peaks = Peaks(lambda: [driver, *driver.children(recursive=True)])
    peaks.start()
    try:
        n, load_s, round_s, digest = ours.recv()
    finally:
        largest = peaks.stop()
        process.join()
    workers = [peak for pid, peak in largest.items() if pid != driver.pid]
    return Use(largest[driver.pid], max(workers), n, load_s, round_s, digest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a third of the data, fewer rounds")
    parser.add_argument("--memory", type=int, default=256, help="worker_memory_mb (default 256)")
    args = parser.parse_args()
    n_mb, rounds = (1600, 3) if args.quick else (4800, 5)
    print(machine())
    limit = {"worker_memory_mb": args.memory, "max_rounds": rounds}
    with tempfile.TemporaryDirectory() as folder:
        paths = write(folder, n_mb)
        few = paths[: max(1, len(paths) // 4)]
        packed = os.path.join(folder, "packed")
        train(MulticlassTask(), few[:1], max_rounds=1, executor="serial")  # compiles
        runs = {
            "a fourth, in pieces": (few, {**limit, "cache_dir": packed}),
            "a fourth, in memory": (few, {"max_rounds": rounds}),
            "all, in pieces": (paths, {**limit, "cache_dir": packed}),
            "all, second start": (paths, {**limit, "cache_dir": packed}),
        }
        found = {name: used(files, **options) for name, (files, options) in runs.items()}
    rows = [
        (name, use.n_examples, f"{4 * N_COLUMNS * use.n_examples / MB:.0f}",
         args.memory if "memory" not in name else "none", f"{use.worker / MB:.0f}",
         f"{use.driver / MB:.0f}", f"{use.load_s:.1f}", f"{use.round_s:.2f}", use.digest)
        for name, use in found.items()
    ]  # fmt: skip
    print(f"Peak USS in MB of the larger of {N_WORKERS} workers and of the driver, {rounds} rounds")
    table(
        ("data", "n", "MB", "limit of a worker", "worker", "driver", "load s", "round s", "w"),
        rows,
    )
    less, more = found["a fourth, in pieces"], found["all, in pieces"]
    same = less.digest == found["a fourth, in memory"].digest
    size = 4 * N_COLUMNS * more.n_examples / MB
    print(
        f"The data is {size / (N_WORKERS * args.memory):.1f} times the limit of all workers; the "
        f"largest worker took {more.worker / MB:.0f} of {args.memory} MB: "
        f"{'within' if more.worker <= args.memory * MB else 'ABOVE'} it"
    )
    print(f"In pieces and in memory: {'the same bits' if same else 'OTHER bits'} of w")
    print(f"The driver from n = {less.n_examples} to {more.n_examples}: "
          f"{(more.driver - less.driver) / MB:+.1f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
