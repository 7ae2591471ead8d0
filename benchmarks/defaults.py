"""What `solver="auto"` takes for classes, beside what it does not take, and LIBLINEAR.

Run: python benchmarks/defaults.py            (up to an hour; --quick: fewer rows, about 10 minutes)

Each data set is trained to the default gap at the default C by one-slack, by multi-plane with 1 and
with 8 blocks, and by `auto`; zero-one loss, no intercept. LIBLINEAR (scikit-learn's LinearSVC)
solves the same problem at C / n. It is run at each of TOLS; its time is that of the loosest whose
P(w) = ½‖w‖² + C·R(w), computed here by NumPy alone, is within C·eps of the best known. Times are
those of the whole call after one call that compiles. Each run has a process of its own on one core;
"> s" is a run that was stopped at --limit. CPU is the time of all threads: on a busy machine its
ratios are the ones to look at. "auto / best" is the CPU time of auto over that of the fastest of
the three ways: auto should never be far above 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from support import (
    answers,
    covertype,
    data_folder,
    liblinear,
    machine,
    mnist,
    newsgroups,
    objective,
    table,
    use_cores,
)

from distsvm import BinaryTask, MulticlassTask, train
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass

TOLS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)
WAYS: dict[str, dict[str, Any]] = {
    "one-slack": {"solver": "one-slack"},
    "multi-plane, 1 block": {"solver": "multi-plane", "n_blocks": 1},
    "multi-plane, 8 blocks": {"solver": "multi-plane", "n_blocks": 8},
    "auto": {},
}
PEER = "LIBLINEAR"

Table = tuple[Any, np.ndarray]


class Run(NamedTuple):
    """One way's end: seconds, P, whether it reached its gap, and C and eps as the defaults gave."""

    wall: float
    cpu: float
    primal: float
    reached: bool
    C: float = 0.0
    eps: float = 0.0
    passes: float = 0.0


# --- data sets -------------------------------------------------------------------------------


def digits() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def cancer() -> Table:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def adult() -> Table:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(data_folder() / "adult" / "a9a.gz"), n_features=123)
    return X.tocsr(), y.astype(int)


def clinc() -> Table:
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(data_folder() / "clinc150" / "data_full.json.gz", "rt") as file:
        texts, labels = zip(*json.load(file)["train"], strict=True)
    X = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)).fit_transform(texts)
    return X, np.unique(labels, return_inverse=True)[1]


def halved(read: Callable[[], Table]) -> Table:
    """The lower classes against the upper ones."""
    X, y = read()
    return X, (y > np.median(np.unique(y))).astype(int)


SETS: dict[str, Callable[[], Table]] = {
    "digits": digits,
    "cancer (binary)": cancer,
    "synthetic, 30 columns": lambda: make_multiclass(20_000, 30, 5, noise=0.3, seed=1),
    "synthetic, 10 columns (binary)": lambda: make_multiclass(100_000, 10, 2, noise=0.3, seed=1),
    "synthetic, sparse": lambda: make_sparse_multiclass(20_000, 20_000, 20),
    "synthetic, sparse (binary)": lambda: make_sparse_multiclass(20_000, 20_000, 2),
    "MNIST": lambda: mnist()[:2],
    "MNIST (binary)": lambda: halved(lambda: mnist()[:2]),
    "Covertype": lambda: covertype()[:2],
    "Covertype (binary)": lambda: halved(lambda: covertype()[:2]),
    "Newsgroups": newsgroups,
    "Newsgroups (binary)": lambda: halved(newsgroups),
    "CLINC150": clinc,
    "Adult (binary)": adult,
}
MADE_HERE = 6
"""The number of them, the first, that need no files."""


def loaded(name: str, n: int | None) -> Table:
    """The first n of a fixed order of the examples."""
    X, y = SETS[name]()
    order = np.random.default_rng(0).permutation(y.size)[:n]
    return X[order], y[order]


def is_binary(y: np.ndarray) -> bool:
    return np.unique(y).size == 2


# --- each in a process of its own ------------------------------------------------------------


def ours(answer: Any, name: str, n: int | None, limit: float, way: dict[str, Any]) -> None:
    answer.send(None)
    use_cores(1)
    X, y = loaded(name, n)
    task = (BinaryTask if is_binary(y) else MulticlassTask)(intercept_scaling=0.0)
    options = {"executor": "serial", **way}
    train(task, X[:2000], y[:2000], max_rounds=12, **options)  # compile
    started, cpu = time.perf_counter(), time.process_time()
    result = train(task, X, y, max_seconds=limit, **options)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    reached = result.stop_reason == "eps"
    passes = result.n_oracle_calls / y.size
    answer.send(Run(wall, cpu, result.primal, reached, result.C, result.eps, passes))


def peer(answer: Any, name: str, n: int | None, C: float) -> None:
    """Send a run for each of TOLS."""
    use_cores(1)
    X, y = loaded(name, n)
    for tol in TOLS:
        answer.send(None)
        model, wall, cpu = liblinear(X, y, C / y.size, tol, max_iter=10**6)
        answer.send(Run(wall, cpu, primal_of(model.coef_, X, y, C / y.size), True))


def primal_of(W: np.ndarray, X: Any, y: np.ndarray, C: float) -> float:
    if W.shape[0] > 1:
        return objective(W, X, y, C)
    margin = np.where(y == y.max(), 1.0, -1.0) * np.asarray(X @ W[0])
    return float(0.5 * W[0] @ W[0] + C * np.maximum(0.0, 1.0 - margin).sum())


# --- tables ----------------------------------------------------------------------------------


def shown(run: Run | None, limit: float) -> str:
    return f"> {limit:g}" if run is None or not run.reached else f"{run.wall:.2f} ({run.cpu:.2f})"


def measure(name: str, n: int | None, limit: float) -> tuple[str, ...]:
    """The row of a data set."""
    runs: dict[str, Run] = {}
    for way, options in WAYS.items():
        # Loading and compiling take time beside the limit.
        (runs[way],) = answers(ours, 1, 2 * limit + 300, name, n, limit, options)
    auto = runs["auto"]
    best = min(run.primal for run in runs.values())
    peers = answers(peer, len(TOLS), limit, name, n, auto.C)
    best = min([best, *(run.primal for run in peers)])
    theirs = next((run for run in peers if run.primal <= best + auto.C * auto.eps), None)
    X, y = loaded(name, n)
    fastest = min(run.cpu if run.reached else np.inf for run in list(runs.values())[:-1])
    against = "" if theirs is None else f"{auto.cpu / max(theirs.cpu, 1e-3):.2f}"
    return (
        name, f"{X.shape[0]:,} x {X.shape[1]:,}", str(np.unique(y).size),
        *(shown(runs[way], limit) for way in WAYS), f"{auto.cpu / fastest:.2f}",
        shown(theirs, limit), against,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 6,000 rows of each")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a run (default 60)")
    parser.add_argument("--only", help="only data sets whose name contains this")
    parser.add_argument("--made-here", action="store_true", help="only those that need no files")
    args = parser.parse_args()
    print(machine())
    names = list(SETS)[: MADE_HERE if args.made_here else None]
    rows = []
    for name in names:
        if args.only is None or args.only in name:
            rows.append(measure(name, 6_000 if args.quick else None, args.limit))
            print(f"  done: {name}", flush=True)
    print("Seconds by the clock (and of CPU)")
    table(("data", "examples x columns", "classes", *WAYS, "auto / best", PEER, f"auto / {PEER}"),
          rows)  # fmt: skip


if __name__ == "__main__":
    main()
