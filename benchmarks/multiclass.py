"""Multiclass beside LIBLINEAR's Crammer–Singer solver: time to the same objective within 0.1%.

Run: python benchmarks/multiclass.py              (up to 30 minutes; --quick: about 3 minutes)

MNIST (pixels in [0, 1]), 20 Newsgroups (tf-idf), Covertype (numbers standardised), CLINC150 (tf-idf
of words and pairs, 150 classes) and generated sparse rows of 1,000 classes, zero-one loss, no
intercept, each at two values of LIBLINEAR's C (ours is n times that). Everybody's
P(w) = ½‖w‖² + C·R(w) is computed here from the weights, by NumPy alone. The best known P is the
smallest of all runs of a problem.

LIBLINEAR (scikit-learn's LinearSVC) is run at each of TOLS; its time is that of the loosest whose P
is within 0.1% of the best known. Ours is the time until a certified P is, and, beside it, until the
certificate itself shows it: (primal − dual) / primal ≤ 0.001. Both are times of the whole call,
with all that it does to the data. Each of --solvers runs on one thread and on two, everybody in a
process of their own that may use one core, or two. A run may take --limit seconds. CPU is the time
of all threads: on a busy machine its ratios are the ones to look at.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from defaults import clinc
from sequential_dual import many_classes
from support import (
    answers,
    covertype,
    liblinear,
    machine,
    mnist,
    newsgroups,
    objective,
    spawned,
    table,
    use_cores,
)

from distsvm import Callback, MulticlassTask, train

WITHIN = 1e-3
TOLS = (1.0, 0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Problem:
    """A data set, the number of its first rows to use, and LIBLINEAR's C."""

    name: str
    C: float
    n: int | None = None

    def load(self) -> tuple[Any, np.ndarray]:
        read: Callable[[], tuple] = {
            "MNIST": mnist, "Newsgroups": newsgroups, "Covertype": covertype, "CLINC150": clinc,
            "1,000 classes": many_classes,
        }[self.name]  # fmt: skip
        X, y = read()[:2]
        if self.name == "CLINC150":  # class by class in its file
            order = np.random.default_rng(0).permutation(y.size)
            X, y = X[order], y[order]
        return X[: self.n], y[: self.n]


@dataclass(frozen=True)
class Moment:
    """P at some time of a run, in seconds of the clock and of the processor."""

    wall: float
    cpu: float
    primal: float
    gap: float = np.inf


@dataclass(frozen=True)
class Run:
    """What one process brought home; `known` is its last P by `objective`."""

    moments: tuple[Moment, ...]
    known: float
    visits: float = 0.0
    note: str = ""

    def reached(self, best: float) -> Moment | None:
        """When P was first within 0.1% of the best known."""
        return next((m for m in self.moments if m.primal <= (1 + WITHIN) * best), None)

    def certified(self) -> Moment | None:
        """When the run's own certificate was first that good."""
        return next((m for m in self.moments if m.gap <= WITHIN * m.primal), None)


class Watch(Callback):
    """Notes when each certified P was there."""

    def __init__(self) -> None:
        self.started, self.cpu = time.perf_counter(), time.process_time()
        self.moments: list[Moment] = []

    def on_round(self, record) -> None:
        if record.kind == "fresh":
            self.moments.append(Moment(
                time.perf_counter() - self.started, time.process_time() - self.cpu,
                record.best_primal, record.gap,
            ))  # fmt: skip


# --- each in a process of its own --------------------------------------------------------------


def theirs(answer: Any, problem: Problem) -> None:
    """Send a moment for each of TOLS."""
    use_cores(1)
    X, y = problem.load()
    for tol in TOLS:
        answer.send(None)
        model, wall, cpu = liblinear(X, y, problem.C, tol)
        answer.send(Moment(wall, cpu, objective(model.coef_, X, y, problem.C)))


def ours(answer: Any, problem: Problem, limit: float, n_threads: int, solver: str) -> None:
    """Send what a run of ours reached, and when."""
    use_cores(n_threads)
    X, y = problem.load()
    task = MulticlassTask(intercept_scaling=0.0)
    options: dict[str, Any] = {"solver": solver, "n_workers": n_threads}
    options["executor"] = "threads" if n_threads > 1 else "serial"
    train(task, X[:500], y[:500], C=500 * problem.C, max_rounds=12, **options)  # compile
    watch = Watch()
    result = train(
        task, X, y, C_per_example=problem.C, eps=1e-6, rel_gap=WITHIN, max_seconds=limit,
        callbacks=[watch], **options,
    )  # fmt: skip
    visits = result.history[-1].n_cache_hits / y.size
    answer.send(Run(tuple(watch.moments), objective(coefficients(result), X, y, problem.C), visits))


def coefficients(result: Any) -> np.ndarray:
    """w as shape (k, d), without the intercept."""
    task = result.model.task
    return result.model.w.reshape(-1, task.labels.size)[:-1].T


# --- in the main process ---------------------------------------------------------------------


def run_peer(problem: Problem, limit: float) -> dict[float, Moment]:
    """Return a moment for each tolerance that was reached within the limit."""
    return dict(zip(TOLS, answers(theirs, len(TOLS), limit, problem), strict=False))


def run_ours(problem: Problem, limit: float, *how: Any) -> Run:
    pipe, process = spawned(ours, problem, limit, *how, daemon=True)
    try:
        return pipe.recv()
    finally:
        process.join()


# --- tables ----------------------------------------------------------------------------------


def seconds(moment: Moment | None, limit: float) -> tuple[str, str]:
    over = f"> {limit:g}"
    return (over, over) if moment is None else (f"{moment.wall:.2f}", f"{moment.cpu:.2f}")


def ratio(above: float | None, below: float | None) -> str:
    return "" if above is None or below is None else f"{above / below:.2f}"


def rows_of(
    problem: Problem, peer: dict[float, Moment], runs: dict[str, Run], limit: float
) -> list[tuple[str, ...]]:
    known = [m.primal for m in peer.values()] + [run.known for run in runs.values()]
    best = min(known)
    tol, theirs = next(
        ((t, m) for t, m in peer.items() if m.primal <= (1 + WITHIN) * best), (TOLS[-1], None)
    )
    head = (problem.name, f"{problem.C:g}")
    rows = [(*head, f"LIBLINEAR, tol {tol:g}", *seconds(theirs, limit), "", "", "", "",
             "" if theirs is None else f"{theirs.primal / best - 1:.1e}", "")]  # fmt: skip
    for name, run in runs.items():
        there, sure = run.reached(best), run.certified()
        rows.append((
            *head, name, *seconds(there, limit),
            ratio(there and there.wall, theirs and theirs.wall),
            ratio(there and there.cpu, theirs and theirs.cpu),
            *seconds(sure, limit), f"{run.known / best - 1:.1e}", f"{run.visits:.1f}",
        ))  # fmt: skip
        if run.moments:
            off = abs(run.known / run.moments[-1].primal - 1)
            assert off < 1e-9, f"our P differs from NumPy's by {off:.1e}"
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, one C each")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a run (default 60)")
    parser.add_argument("--only", help="only data sets whose name contains this")
    parser.add_argument(
        "--solvers", nargs="+", default=["multi-plane", "sequential-dual"], metavar="SOLVER",
        help="ours (multi-plane sequential-dual)",
    )  # fmt: skip
    args = parser.parse_args()
    print(machine())
    problems = [
        Problem("MNIST", 0.01), Problem("MNIST", 0.1), Problem("Newsgroups", 0.1),
        Problem("Newsgroups", 1.0), Problem("Covertype", 0.01), Problem("Covertype", 0.1),
        Problem("CLINC150", 0.1), Problem("CLINC150", 1.0), Problem("1,000 classes", 0.1),
        Problem("1,000 classes", 1.0),
    ]  # fmt: skip
    if args.quick:
        problems = [
            Problem("MNIST", 0.01, 10_000), Problem("Newsgroups", 1.0, 4_000),
            Problem("Covertype", 0.01, 50_000), Problem("CLINC150", 0.1, 3_000),
            Problem("1,000 classes", 0.1, 3_000),
        ]  # fmt: skip
    methods = {
        f"{solver}, {n} thread{'s' * (n > 1)}": (n, solver)
        for solver in args.solvers
        for n in (1, 2)
    }
    rows = []
    for problem in problems:
        if args.only and args.only not in problem.name:
            continue
        peer = run_peer(problem, args.limit)
        runs = {name: run_ours(problem, args.limit, *how) for name, how in methods.items()}
        more = rows_of(problem, peer, runs, args.limit)
        for row in more:
            print("  ".join(row), flush=True)
        rows += more
    print("\nSeconds until P is within 0.1% of the best known; ratio = ours / LIBLINEAR's")
    table(
        ("data", "C", "", "wall s", "CPU s", "ratio", "CPU ratio", "certified s", "its CPU s",
         "P / best − 1", "visits"),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
