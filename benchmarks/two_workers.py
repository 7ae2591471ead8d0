"""Two workers against one: rounds on MNIST by threads, by processes and by Ray.

Run: python benchmarks/two_workers.py             (about 2 minutes; --quick: under a minute)

A round asks the oracle about all 60,000 × 784 examples at a random w and adds up the cut. The
speed-up of an executor with two workers over the same executor with one is set against a ceiling:
the same compiled calls in a bare loop over the two halves of the data, in two plain threads against
one, with no workers, messages or caches at all. Everything runs in turns, and ratios are
medians over the turns, because a shared machine is noisy. Wanted: 0.88 of the ceiling.
"""

from __future__ import annotations

import argparse
import statistics
import threading
from functools import partial

import numpy as np
from support import interleaved, machine, mnist, table

from distsvm import MulticlassTask
from distsvm.blas import one_thread
from distsvm.data.dataset import TableData
from distsvm.executors import Executor, make_executor
from distsvm.messages import Sums
from distsvm.tasks.oracle import Oracle
from distsvm.vectors import to_dense
from distsvm.workers.shard_worker import ShardWorker

KINDS = ("threads", "processes", "ray")
WANTED = 0.88
LEAST_CEILING = 1.3  # below it the machine had no second core to give, and ratios mean nothing


def hosted(kind: str, n_workers: int, specs: list, task: MulticlassTask) -> Executor:
    """A real executor with a real worker a shard, ready for rounds."""
    # One actor and then two more have to fit on two cores; they never work at the same time.
    options = {"resources_per_worker": {"CPU": 0.5}} if kind == "ray" else {}
    executor = make_executor(kind, n_workers, compiled=True, **options)
    executor.start([partial(ShardWorker, spec) for spec in specs])
    executor.prepare("bind", task, "margin", 0, False, 0)
    return executor


class Loop:
    """The oracles' compiled calls, piece by piece, without anything around them."""

    def __init__(self, oracles: list[Oracle], dim: int) -> None:
        self.halves = [oracles[: len(oracles) // 2], oracles[len(oracles) // 2 :]]
        self.sums = np.zeros((2, dim))
        self.pieces = {
            oracle: [
                np.arange(start, min(start + oracle.piece, oracle.n))
                for start in range(0, oracle.n, oracle.piece)
            ]
            for oracle in oracles
        }

    def half(self, number: int, w: np.ndarray) -> None:
        out = self.sums[number]
        out[:] = 0
        for oracle in self.halves[number]:
            view = oracle.view(w)
            for rows in self.pieces[oracle]:
                planes = oracle.separate(view, rows).planes
                oracle.accumulate(planes, np.ones(rows.size), out)

    def one(self, w: np.ndarray) -> np.ndarray:
        self.half(0, w)
        self.half(1, w)
        return self.sums.sum(axis=0)

    def two(self, w: np.ndarray) -> np.ndarray:
        other = threading.Thread(target=self.half, args=(1, w))
        other.start()
        self.half(0, w)
        other.join()
        return self.sums.sum(axis=0)


def measure(
    kind: str, specs: list, task: MulticlassTask, loop: Loop, w: np.ndarray, repeats: int
) -> dict[str, list[float]]:
    """Seconds of every turn: the loop and the executor, with one worker and with two."""
    group = [range(len(specs))]

    def round_of(executor: Executor) -> Sums:
        return executor.reduce("fresh", w, groups=group)[0]

    with hosted(kind, 1, specs, task) as single, hosted(kind, 2, specs, task) as double:
        for executor in (single, double):
            cut = to_dense(round_of(executor).a)
            assert np.allclose(cut, loop.one(w), rtol=1e-9, atol=1e-9 * np.abs(cut).max())
        return interleaved(
            {
                "loop 1": lambda: loop.one(w),
                "loop 2": lambda: loop.two(w),
                "one": lambda: round_of(single),
                "two": lambda: round_of(double),
            },
            repeats,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="9 turns")
    parser.add_argument("--repeats", type=int, default=51, help="turns (default 51)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    args = parser.parse_args()
    print(machine())
    X, y, _, _ = mnist()
    if args.quick:
        args.repeats = 9
    specs = TableData(X, y).specs(None)
    own = [ShardWorker(spec) for spec in specs]
    task = MulticlassTask()
    parts = [task.scan(worker.shard) for worker in own]
    task = task.prepare(sum(parts[1:], parts[0]))
    for worker in own:
        worker.bind(task, "margin", 0, False, 0)
    w = 0.01 * np.random.default_rng(0).standard_normal(task.dim)
    rows, ceilings = [], []
    with one_thread():
        loop = Loop([worker.oracle for worker in own], task.dim)
        for kind in args.kinds:
            times = measure(kind, specs, task, loop, w, args.repeats)
            turns = list(zip(*times.values(), strict=True))
            ceiling = statistics.median(a / b for a, b, _, _ in turns)
            speed_up = statistics.median(c / d for _, _, c, d in turns)
            ratios = sorted((c / d) / (a / b) for a, b, c, d in turns)
            ratio = statistics.median(ratios)
            ceilings.append(ceiling)
            quartiles = statistics.quantiles(ratios, n=4)
            medians = [f"{1e3 * statistics.median(times[name]):.1f}" for name in times]
            rows.append(
                (kind, *medians, f"{ceiling:.2f}", f"{speed_up:.2f}", f"{ratio:.3f}",
                 f"{quartiles[0]:.2f}–{quartiles[2]:.2f}", "yes" if ratio >= WANTED else "NO")
            )  # fmt: skip
    print(
        f"{X.shape[0]} × {X.shape[1]}, {task.labels.size} classes, {len(specs)} shards, "
        f"medians of {args.repeats} turns; times in ms"
    )
    table(
        ("executor", "loop 1", "loop 2", "1 worker", "2 workers", "ceiling", "speed-up",
         "of ceiling", "quartiles", f"≥ {WANTED}"),
        rows,
    )  # fmt: skip
    if min(ceilings) < LEAST_CEILING:
        print(f"A ceiling is below {LEAST_CEILING}: the second core was busy, so run this again")


if __name__ == "__main__":
    main()
