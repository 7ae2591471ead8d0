"""The sequential dual method for classes beside LIBLINEAR, the other solvers, and its paper.

Run: python benchmarks/sequential_dual.py PART [--quick | --full] [--limit S]

- liblinear: Crammer–Singer, seconds until a certified P is within 0.1% of the best known, on one
  thread; LIBLINEAR's (scikit-learn's LinearSVC) are those of its loosest tol whose P is.
- threads: our time on one thread and on two, and the ceiling: what two reach on looks alone.
- binary: the same against LinearSVC(loss="hinge") on Adult and Covertype (class 2 or not), and
  snapml's SVM beside it, where that is installed.
- solvers: seconds until each solver's certified relative gap is 0.1 and 0.001 (figures 2 and 3).
- auto: shapes of data (dense or sparse, few or many classes, small or large C) and every solver's
  time to rel_gap 0.001; the row of what `auto` takes is marked.
- tables: tables 4.2 and 4.3: 10 stratified splits 60/20/20, C chosen on validation, three
  formulations, Wilcoxon's p. --quick: 3 splits and 3,000 rows; --full: all rows.

Times are those of the whole call, in a process of their own on one core, after a call that
compiles. A cell takes at most --limit seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from defaults import adult, clinc
from scipy import sparse
from support import covertype, data_folder, machine, mnist, newsgroups, objective, spawned, table

from distsvm import BinaryTask, Callback, MulticlassTask, path, train
from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.structures.classes.sequential_form import form_of

PARTS = ("liblinear", "threads", "binary", "solvers", "auto", "tables")
WITHIN = 1e-3
TOLS = (1.0, 0.3, 0.1, 0.03, 0.01)
SNAP_TOL = 0.01  # snapml's tol is another measure
SOLVERS = ("sequential-dual", "multi-plane", "one-slack")
FORMULATIONS = ("one-vs-rest", "crammer-singer", "weston-watkins")
Table = tuple[Any, np.ndarray]


# --- data --------------------------------------------------------------------------------------


def bench(name: str) -> Table:
    """A table of the folder mlbench, its columns standardised."""
    with np.load(data_folder() / "mlbench" / f"{name}.npz") as file:
        arrays = [file[key] for key in file.files]
    X = next(a for a in arrays if a.ndim == 2).astype(np.float64)
    y = next(a for a in arrays if a.ndim == 1)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.unique(y, return_inverse=True)[1]


def many_classes(n: int = 20_000, k: int = 1000, d: int = 20_000, length: int = 30) -> Table:
    """Texts of 30 words, a third of them from 40 words of the class's own; rows of norm 1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    own = rng.integers(0, d, (k, 40))[y[:, None], rng.integers(0, 40, (n, length))]
    common = (rng.random((n, length)) ** 3 * d).astype(np.int64)
    words = np.where(rng.random((n, length)) < 0.3, own, common)
    place = np.repeat(np.arange(n), length), words.ravel()
    X = sparse.csr_matrix((np.ones(n * length), place), shape=(n, d))
    X.sum_duplicates()
    return sparse.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1)))), y


def second_class() -> Table:
    X, y = covertype()[:2]
    return X, (y == 2).astype(int)


SETS: dict[str, Callable[[], Table]] = {
    "MNIST": lambda: mnist()[:2],
    "newsgroups": lambda: newsgroups()[:2],
    "Covertype": lambda: covertype()[:2],
    "Letter": partial(bench, "LetterRecognition"),
    "Satellite": partial(bench, "Satellite"),
    "CLINC150": clinc,
    "1,000 classes": many_classes,
    "Adult (binary)": adult,
    "Covertype (binary)": second_class,
    "dense, 10 columns, 2 classes": lambda: make_multiclass(50_000, 10, 2, noise=0.3, seed=1),
    "dense, 5 classes": lambda: make_multiclass(20_000, 30, 5, noise=0.3, seed=1),
    "dense, 100 classes": lambda: make_multiclass(20_000, 200, 100, noise=0.3, seed=1),
    "sparse, 5 classes": lambda: make_sparse_multiclass(20_000, 20_000, 5),
    "sparse, 100 classes": lambda: make_sparse_multiclass(20_000, 20_000, 100),
}


def loaded(name: str, n: int | None) -> Table:
    """The first n of a fixed order of the examples."""
    X, y = SETS[name]()
    order = np.random.default_rng(0).permutation(y.size)[:n]
    return X[order], np.asarray(y)[order]


# --- each in a process of its own --------------------------------------------------------------


class Watch(Callback):
    """Notes when each certified P was there."""

    def __init__(self) -> None:
        self.started, self.moments = time.perf_counter(), []

    def on_round(self, record: Any) -> None:
        if record.kind == "fresh":
            now = time.perf_counter() - self.started
            self.moments.append((now, record.best_primal, record.gap / record.best_primal))


def use_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])


def ours(
    answer: Any, name: str, n: int | None, C: float, limit: float, solver: str, n_threads: int = 1
) -> None:
    """Send (second, best P, relative gap) of each certifying round, and the solver's name."""
    how: dict[str, Any] = {"solver": solver, "executor": "serial"}
    if n_threads == 1:
        use_one_core()
    else:
        how |= {"executor": "threads", "n_workers": n_threads, "n_blocks": 1}
    X, y = loaded(name, n)
    task: Any = (BinaryTask if "binary" in name else MulticlassTask)(intercept_scaling=0.0)
    train(task, X[:2000], y[:2000], C_per_example=C, max_rounds=12, **how)  # compile
    watch = Watch()
    result = train(task, X, y, C_per_example=C, rel_gap=WITHIN, max_seconds=limit,
                   callbacks=[watch], **how)  # fmt: skip
    answer.send((watch.moments, result.history[-1].solver))


def looks(answer: Any, name: str, n: int | None) -> None:
    """Send the seconds of looks at all examples by one thread, and by two on two halves."""
    X, y = loaded(name, n)
    shard = Shard(as_rows(X), y, None)
    oracle = MulticlassTask().prepare(MulticlassTask().scan(shard)).oracle(shard, "margin")
    form = form_of(oracle, FORMULATIONS[1], np.ones(y.size), False)
    Z, hinge = np.zeros((oracle.scale.size, oracle.n_outputs)), np.zeros(y.size)
    found = []
    with ThreadPoolExecutor(2) as pool:
        for parts in (1, 1, 2, 2):  # the first of each warms up
            halves = np.array_split(np.arange(y.size), parts)
            started = time.perf_counter()
            for _ in range(5):
                list(pool.map(lambda rows: form.judge(rows, Z, hinge), halves))
            found.append(time.perf_counter() - started)
    answer.send((found[1], found[3]))


def liblinear(answer: Any, name: str, n: int | None, C: float, limit: float) -> None:
    """Send (tol, seconds, P) for each of TOLS."""
    from sklearn.svm import LinearSVC

    use_one_core()
    X, y = loaded(name, n)
    kind = {"loss": "hinge"} if "binary" in name else {"multi_class": "crammer_singer"}
    for tol in TOLS:
        model = LinearSVC(**kind, fit_intercept=False, C=C, tol=tol, random_state=0,
                          max_iter=100_000)  # fmt: skip
        answer.send(None)  # the limit begins
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        seconds = time.perf_counter() - started
        binary = "binary" in name
        P = primal_of_two(model.coef_[0], X, y, C) if binary else objective(model.coef_, X, y, C)
        answer.send((tol, seconds, float(P)))


def snap(answer: Any, name: str, n: int | None, C: float, limit: float) -> None:
    """As liblinear, for snapml's SVM on one thread."""
    from snapml import SupportVectorMachine

    use_one_core()
    X, y = loaded(name, n)
    for tol in TOLS:
        model = SupportVectorMachine(
            regularizer=1 / C, tol=SNAP_TOL * tol, fit_intercept=False, n_jobs=1, max_iter=100_000,
            random_state=0,
        )  # fmt: skip
        answer.send(None)
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        answer.send((SNAP_TOL * tol, seconds, primal_of_two(model.coef_.ravel(), X, y, C)))


def primal_of_two(w: np.ndarray, X: Any, y: np.ndarray, C: float) -> float:
    """P of the hinge loss with two classes."""
    margins = np.where(y == y.max(), 1, -1) * (X @ w)
    return float(0.5 * (w @ w) + C * np.maximum(0, 1 - margins).sum())


# --- asked by the one that prints --------------------------------------------------------------


def run_ours(*how: Any, what: Callable[..., None] = ours) -> Any:
    pipe, process = spawned(what, *how, daemon=True)
    try:
        return pipe.recv()
    finally:
        process.join()


def run_peer(
    name: str, n: int | None, C: float, limit: float, what: Callable[..., None] = liblinear
) -> list[tuple[float, float, float]]:
    pipe, process = spawned(what, name, n, C, limit, daemon=True)
    found = []
    try:
        for _ in TOLS:
            pipe.recv()
            if not pipe.poll(limit):
                break
            found.append(pipe.recv())
    finally:
        process.kill()
        process.join()
    return found


def beside_liblinear(problems: list[tuple[str, float]], n: int | None, limit: float) -> None:
    rows, ratios = [], []
    for name, C in problems:
        peer = run_peer(name, n, C, limit)
        other = run_peer(name, n, C, limit, snap) if "binary" in name and has_snap() else []
        moments, _ = run_ours(name, n, C, limit, "sequential-dual")
        best = min([P for _, _, P in peer + other] + [P for _, P, _ in moments])
        tol, theirs = loosest(peer, best)
        snap_tol, snap_s = loosest(other, best)
        own = next((s for s, P, _ in moments if (1 + WITHIN) * best >= P), np.inf)
        ratios.append(own / theirs)
        rows.append(
            (name, f"{C:g}", f"{theirs:.2f} ({tol:g})", f"{own:.2f}", f"{ratios[-1]:.2f}",
             f"{snap_s:.2f} ({snap_tol:g})" if other else "")
        )  # fmt: skip
        print("  ".join(rows[-1]), flush=True)
    print(f"\nSeconds until P is within 0.1% of the best known; median {np.median(ratios):.2f}")
    table(("data", "C", "LIBLINEAR s (tol)", "ours s", "ratio", "snapml s (tol)"), rows)


def loosest(runs: list[tuple[float, float, float]], best: float) -> tuple[float, float]:
    """The tol and seconds of the first run whose P is near the best one."""
    near = (run[:2] for run in runs if run[2] <= (1 + WITHIN) * best)
    return next(near, (TOLS[-1], np.inf))


def has_snap() -> bool:
    return importlib.util.find_spec("snapml") is not None


def on_two_threads(problems: list[tuple[str, float]], n: int | None, limit: float) -> None:
    """Our time on one thread against that on two, and what two threads reach on looks alone."""
    rows, speeds = [], []
    for name, C in problems:
        own = []
        for n_threads in (1, 2):
            moments, _ = run_ours(name, n, C, limit, "sequential-dual", n_threads)
            own.append(next((s for s, _, gap in moments if gap <= WITHIN), np.inf))
        one, two = run_ours(name, n, what=looks)
        speeds.append(own[0] / own[1])
        cells = *(f"{s:.2f}" for s in own), f"{speeds[-1]:.2f}", f"{one / two:.2f}"
        rows.append((name, f"{C:g}", *cells))
        print("  ".join(rows[-1]), flush=True)
    print(f"\nSeconds to rel_gap 0.001; median speed-up {np.nanmedian(speeds):.2f}")
    table(("data", "C", "1 thread s", "2 threads s", "speed-up", "ceiling"), rows)


def beside_solvers(problems: list[tuple[str, float]], n: int | None, limit: float) -> None:
    rows = []
    for name, C in problems:
        for solver in SOLVERS:
            moments, _ = run_ours(name, n, C, limit, solver)
            cells = []
            for goal in (0.1, WITHIN):
                there = next((s for s, _, gap in moments if gap <= goal), None)
                cells.append(f"> {limit:g}" if there is None else f"{there:.2f}")
            rows.append((name, f"{C:g}", solver, *cells))
            print("  ".join(rows[-1]), flush=True)
    print("\nSeconds until the certified relative gap is 0.1 and 0.001")
    table(("data", "C", "solver", "0.1", "0.001"), rows)


def what_auto_takes(n: int | None, limit: float) -> None:
    rows = []
    for name in [name for name in SETS if name.startswith(("dense", "sparse", "Letter", "Sat"))]:
        for C in (0.01, 10.0):
            cells = []
            for solver in SOLVERS:
                moments, _ = run_ours(name, n, C, limit, solver)
                there = next((s for s, _, gap in moments if gap <= WITHIN), np.inf)
                cells.append(f"> {limit:g}" if np.isinf(there) else f"{there:.2f}")
            taken = run_ours(name, 2000, C, 1.0, "auto")[1]
            rows.append((name, f"{C:g}", *cells, taken))
            print("  ".join(rows[-1]), flush=True)
    print("\nSeconds to rel_gap 0.001")
    table(("data", "C", *SOLVERS, "auto takes"), rows)


# --- tables 4.2 and 4.3 ------------------------------------------------------------------------

VALUES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MOST_ROUNDS = 60  # of a run: no accuracy depends on the machine's speed
THEIRS = {  # of 002's table 4.2, where the set is the same; others of its sets differ
    "MNIST": ("91.46 ± 0.23", "92.50 ± 0.20", "91.84 ± 0.21"),
    "Covertype": ("71.35 ± 0.33", "72.31 ± 0.37", "72.40 ± 0.25"),
}


def tables(names: list[str], n: int | None, n_splits: int) -> None:
    from scipy.stats import wilcoxon
    from sklearn.model_selection import train_test_split

    rows, tests = [], []
    for name in names:
        X, y = loaded(name, n)
        found: dict[str, list[float]] = {one: [] for one in FORMULATIONS}
        n_cut = n_runs = 0
        for seed in range(n_splits):
            rest, test = train_test_split(
                np.arange(y.size), test_size=0.2, random_state=seed, stratify=y
            )
            learn, check = train_test_split(
                rest, test_size=0.25, random_state=seed, stratify=y[rest]
            )
            for one in FORMULATIONS:
                correct, results = split(X, y, learn, check, rest, test, one)
                found[one].append(100 * correct)
                n_runs += len(results)
                n_cut += sum(result.stop_reason != "rel_gap" for result in results)
        rows += [
            (name, one, f"{np.mean(cells):.2f} ± {np.std(cells, ddof=1):.2f}", theirs)
            for (one, cells), theirs in zip(
                found.items(), THEIRS.get(name, ("", "", "")), strict=True
            )
        ]
        ovr, *direct = found.values()
        tests.append((name, *(f"{wilcoxon(ovr, one).pvalue:.2g}" for one in direct)))
        print(rows[-3:], tests[-1], f"{n_cut} of {n_runs} runs ended at the limit", flush=True)
    table(("data", "formulation", "accuracy %", "the paper's"), rows)
    table(("data", "p: OVR–CS", "p: OVR–WW"), tests)


def split(
    X: Any, y: np.ndarray, learn: np.ndarray, check: np.ndarray, rest: np.ndarray,
    test: np.ndarray, formulation: str,
) -> tuple[float, list[Any]]:  # fmt: skip
    """The accuracy on `test` of a model of `rest` at the best C on `check`, and all runs."""
    how: dict[str, Any] = {
        "rel_gap": 0.01, "max_rounds": MOST_ROUNDS, "formulation": formulation,
        "solver": "sequential-dual", "executor": "serial",
    }  # fmt: skip
    tried = path(
        MulticlassTask(), X[learn], y[learn], validation=(X[check], y[check]),
        Cs=[C * learn.size for C in VALUES], **how,
    )  # fmt: skip
    best = max(tried.points, key=lambda point: (point.validation_accuracy, -point.C))
    result = train(MulticlassTask(), X[rest], y[rest], C_per_example=best.C / learn.size, **how)
    correct = result.model.evaluate(X[test], y[test], executor="serial").accuracy
    return correct, [*tried.points, result]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="at most 3,000 rows")
    parser.add_argument("--full", action="store_true", help="all rows, also of tables")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a run (default 30)")
    parser.add_argument("--only", default="", help="only data sets whose name contains this")
    args = parser.parse_args()
    print(machine())
    n = 3_000 if args.quick else None
    several = [
        ("MNIST", 0.01), ("MNIST", 0.1), ("newsgroups", 0.1), ("newsgroups", 1.0), ("Letter", 0.1),
        ("Letter", 1.0), ("CLINC150", 0.1), ("CLINC150", 1.0), ("1,000 classes", 1.0),
        ("Covertype", 0.01),
    ]  # fmt: skip
    several = [(name, C) for name, C in several if args.only in name]
    if args.part == "liblinear":
        beside_liblinear(several, n, args.limit)
    elif args.part == "threads":
        on_two_threads(several, n, args.limit)
    elif args.part == "binary":
        pairs = [("Adult (binary)", 0.1), ("Adult (binary)", 1.0), ("Covertype (binary)", 0.01)]
        beside_liblinear(pairs, n, args.limit)
    elif args.part == "solvers":
        beside_solvers(several, n, args.limit)
    elif args.part == "auto":
        what_auto_takes(n, args.limit)
    else:
        names = ["newsgroups", "Letter", "Satellite", "MNIST", "Covertype"]
        few = 3_000 if args.quick else None if args.full else 20_000
        tables([name for name in names if args.only in name], few, 3 if args.quick else 10)


if __name__ == "__main__":
    main()
