"""Memory: what a worker holds beside its shards' data, and what the driver holds of data in files.

Run: python benchmarks/memory.py                  (about 5 minutes; --quick: under a minute)

Workers: two processes with real ShardWorkers do two fresh rounds and a cached one. A worker's own
memory is its USS (unique set size, what would be freed if it ended) less that of a worker that did
the same with next to no data. It may be 1.5 times the data (features and labels of its shards, as
bound), plus the plane cache, plus a few vectors of length dim.

Driver: training from svmlight and Parquet files of growing n, each in a fresh process. The peak of
the driver's USS must not grow with n, since the workers read the files, each its own part.

Peaks are sampled every 20 ms, and once more at the end.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil
from support import MB, machine, spawned, table, verdict

from distsvm import MulticlassTask, Task, train
from distsvm.data import open_data
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.data.writers import write_parts
from distsvm.executors import Executor, make_executor
from distsvm.workers.shard_worker import ShardWorker

INTERVAL_S = 0.02
WANTED = 1.5
VECTORS = 4  # "a few": w, the sums of a shard and of the worker, and one on its way
N_CLASSES = 5
SMALL_ROWS = 500


class Peaks(threading.Thread):
    """The largest USS of each process, sampled until `stop`."""

    def __init__(self, processes: Callable[[], list[psutil.Process]]) -> None:
        super().__init__(daemon=True)
        self._processes, self._ended = processes, threading.Event()
        self.largest: dict[int, int] = {}

    def run(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self.sample()

    def sample(self) -> None:
        for process in self._processes():
            try:
                now = uss(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            self.largest[process.pid] = max(now, self.largest.get(process.pid, 0))

    def stop(self) -> dict[int, int]:
        self._ended.set()
        self.join()
        self.sample()
        return self.largest


def uss(process: psutil.Process) -> int:
    return process.memory_full_info().uss


# --- (a) workers -----------------------------------------------------------------------------


class Measured(ShardWorker):
    """A worker that also returns its process and the size of its arrays."""

    def sizes(self) -> tuple[int, int, int]:
        return os.getpid(), self.oracle.n_bytes, self.cache.n_bytes


@dataclass(frozen=True)
class Use:
    """Bytes of the worker that uses the most for its data: now, at its peak, and of what."""

    held: int
    peak: int
    data: int
    cache: int
    dim: int


def work(
    executor: Executor, task: Task, source: Any, cache_size: int, options: dict[str, Any]
) -> int:
    """Load, scan, bind, and do some rounds; returns dim."""
    specs = open_data(source, **options).specs(None)
    executor.start([partial(Measured, spec) for spec in specs])
    parts = executor.run("scan", task)
    task = task.prepare(sum(parts[1:], parts[0]))
    executor.prepare("bind", task, "margin", cache_size, False, 0)
    groups, rng = [range(len(specs))], np.random.default_rng(0)
    for method in ("fresh", "fresh", "cached"):
        executor.reduce(method, 0.01 * rng.standard_normal(task.dim), groups=groups)
    return task.dim


def workers(task: Task, source: Any, cache_size: int, options: dict[str, Any]) -> Use:
    """Two worker processes after some rounds; the one with more data if they differ."""
    peaks = Peaks(psutil.Process().children)
    peaks.start()
    try:
        with make_executor("processes", 2, compiled=True) as executor:
            dim = work(executor, task, source, cache_size, options)
            data: dict[int, int] = {}
            cache: dict[int, int] = {}
            for pid, n_data, n_cache in executor.run("sizes"):
                data[pid] = data.get(pid, 0) + n_data
                cache[pid] = cache.get(pid, 0) + n_cache
            largest = peaks.stop()
            pid = max(data, key=data.__getitem__)
            return Use(uss(psutil.Process(pid)), largest[pid], data[pid], cache[pid], dim)
    finally:
        peaks.stop()


def worker_table(
    sources: list[tuple[str, Any, Any, dict[str, Any]]], cache_sizes: tuple[int, ...]
) -> None:
    """A row for each (name, data, little data of the same kind, options) and cache size."""
    rows, task = [], MulticlassTask()
    for name, source, little, options in sources:
        with make_executor("serial", compiled=True) as compiling:  # a compiler needs memory, too
            work(compiling, task, little, 1, options)
        idle = workers(task, little, 0, options)
        for size in cache_sizes:
            full = workers(task, source, size, options)
            beside = full.cache - idle.cache + VECTORS * 8 * full.dim
            ratio, at_peak = (
                (used - idle.held - beside) / (full.data - idle.data)
                for used in (full.held, full.peak)
            )
            rows.append(
                (name, size, f"{idle.held / MB:.0f}", f"{full.held / MB:.0f}",
                 f"{full.peak / MB:.0f}", f"{full.data / MB:.1f}", f"{full.cache / MB:.1f}",
                 f"{8 * full.dim / MB:.2f}", f"{ratio:.2f}", f"{at_peak:.2f}",
                 verdict(ratio <= WANTED))
            )  # fmt: skip
    print(
        "A worker's memory in MB; ratio = (USS − idle − cache − "
        f"{VECTORS} vectors) / data, now and at the peak while loading"
    )
    table(
        ("data", "cache", "idle", "USS", "peak", "data MB", "cache MB", "vector MB", "ratio",
         "at peak", f"≤ {WANTED}"),
        rows,
    )  # fmt: skip


def worker_sources(folder: str, quick: bool) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    n, d, n_sparse = (120_000, 60, 40_000) if quick else (600_000, 60, 200_000)
    X, y = make_multiclass(n, d, N_CLASSES, dtype=np.float64)
    S, z = make_sparse_multiclass(n_sparse, 20_000, N_CLASSES, n_nonzero=60)
    X32, few = X.astype(np.float32), slice(0, SMALL_ROWS)
    paths = write_parts(os.path.join(folder, "sparse"), S, z, 4)
    little = write_parts(os.path.join(folder, "little"), S[few], z[few], 1)
    return [
        ("dense float64, memory", (X, y), (X[few], y[few]), {}),
        ("dense float32, memory", (X32, y), (X32[few], y[few]), {}),
        ("CSR float64, memory", (S, z), (S[few], z[few]), {}),
        ("CSR float64, svmlight", paths, little, {}),
        ("CSR float32, svmlight", paths, little, {"dtype": "float32"}),
    ]


# --- (b) the driver --------------------------------------------------------------------------


def drive(answer, paths: list[str], n_rounds: int) -> None:
    """In a fresh process: train from files; send USS before, its peak, and examples seen."""
    me = psutil.Process()
    peaks = Peaks(lambda: [me])
    before = uss(me)
    peaks.start()
    result = train(
        MulticlassTask(), paths, C=100.0, eps=0.0, max_rounds=n_rounds, executor="processes",
        n_workers=2,
    )  # fmt: skip
    answer.send((before, peaks.stop()[me.pid], result.n_examples))


def driver(paths: list[str], n_rounds: int) -> tuple[int, int, int]:
    ours, process = spawned(drive, paths, n_rounds)
    found = ours.recv()
    process.join()
    return found


def driver_table(folder: str, quick: bool) -> None:
    n_part, counts, d = (10_000, (1, 16), 20) if quick else (50_000, (1, 4, 16), 20)
    n_rounds = 10 if quick else 20
    X, y = make_multiclass(n_part * counts[-1], d, N_CLASSES, dtype=np.float64)
    rows, verdicts = [], []
    for format in ("svmlight", "parquet"):
        paths = write_parts(os.path.join(folder, format), X, y, counts[-1], format)
        sizes, peaks = [], []
        for count in counts:
            used = paths[:count]
            before, peak, n = driver(used, n_rounds)
            n_bytes = sum(os.path.getsize(path) for path in used)
            sizes.append(n)
            peaks.append(peak)
            rows.append(
                (format, n, f"{n_bytes / MB:.0f}", f"{8 * d * n / MB:.0f}", f"{before / MB:.1f}",
                 f"{peak / MB:.1f}")
            )  # fmt: skip
        slope = np.polyfit(sizes, peaks, 1)[0]
        verdicts.append(
            f"{format}: the driver's peak changes by {slope:+.2f} bytes a row "
            f"({100 * slope / (8 * d):.2f}% of a row's {8 * d} bytes); from n = {sizes[0]} to "
            f"{sizes[-1]} by {(peaks[-1] - peaks[0]) / MB:+.1f} MB"
        )
    print(f"The driver's USS in MB, training from files, {n_rounds} rounds, two worker processes")
    table(("files", "n", "file MB", "as float64 MB", "at start", "peak"), rows)
    for line in verdicts:
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the data")
    parser.add_argument("--cache", type=int, default=10, help="planes an example (default 10)")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        cache_sizes = (args.cache,) if args.quick else (0, args.cache)
        worker_table(worker_sources(folder, args.quick), cache_sizes)
        print()
        driver_table(folder, args.quick)


if __name__ == "__main__":
    main()
