"""The figures of the sequential dual method's paper, in numbers.

Run: python benchmarks/sequential_figures.py PART [--quick] [--limit S] [--only NAME]

- effects: figures 1 and 4: each rule of shrinking, for Crammer–Singer and Weston–Watkins:
  (D* − D)/D* after some rounds, with the visits so far for each example.
- solvers: figures 2 and 3: the sequential dual method, multi-plane, one-slack and exponentiated
  gradient (Collins et al. 2008, written here): (D* − D)/D* and test accuracy over CPU seconds.
- accuracy: figure 5: test accuracy of the three formulations over CPU seconds.

A point is a run of its own that ends after so many rounds and certifies there, so that its D is
true; its seconds are CPU seconds of the whole call. D* is the best D of
all runs of one problem. A row of points
ends with the one that takes more than --limit seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from sequential_dual import FORMULATIONS, loaded
from support import machine, table

from distsvm import MulticlassTask, train

ROUNDS = (2, 3, 4, 6, 9, 13, 20, 30, 50, 80)
PASSES = (1, 2, 4, 8, 16, 32, 64, 128)
RULES = ("gap", "cooled", "fixed", "none")
SETS = (("MNIST", 1.0), ("Covertype", 1.0), ("newsgroups", 1.0), ("MNIST", 10.0), ("MNIST", 0.1))


class Point(NamedTuple):
    """Where a run ended."""

    steps: int
    seconds: float
    visits: float
    dual: float
    accuracy: float


def halves(name: str, n: int | None) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Four fifths to train on, and the rest."""
    X, y = loaded(name, n)
    cut = 4 * y.size // 5
    return X[:cut], y[:cut], X[cut:], y[cut:]


def points_of(
    data: tuple[Any, np.ndarray, Any, np.ndarray], C: float, limit: float, **how: Any
) -> list[Point]:
    """The ends of runs of more and more rounds."""
    X, y, X_test, y_test = data
    found: list[Point] = []
    task = MulticlassTask(intercept_scaling=0.0)
    train(
        task, X[:500], y[:500], C_per_example=C, max_rounds=4, executor="serial", **how
    )  # compile
    for rounds in ROUNDS:
        started = time.process_time()
        result = train(
            task, X, y, C_per_example=C, max_rounds=rounds, eps=1e-9, executor="serial", **how
        )  # fmt: skip
        seconds = time.process_time() - started
        last = result.history[-1]
        visits = (last.n_oracle_calls + last.n_cache_hits) / y.size
        accuracy = result.model.evaluate(X_test, y_test, executor="serial").accuracy
        found.append(Point(rounds, seconds, visits, result.dual, 100 * accuracy))
        if seconds > limit:
            break
    return found


# --- exponentiated gradient --------------------------------------------------------------------

MOST_HALVINGS, GROWTH = 5, 1.05


@njit(cache=True)
def eg_pass(values, columns, starts, y, rows, C, theta, rates, W):
    """One pass over the rows: return the growth of the dual.

    α = C·softmax(theta) is on the simplex with the truth; W_m = Σ (C·[m = y] − α_m) x. A step that
    would lower the dual is halved, and the example's rate with it.
    """
    k = W.shape[1]
    gained = 0.0
    slope, old, new, next_theta = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)
    for i in rows:
        square = 0.0
        slope[:] = 1.0
        slope[y[i]] = 0.0
        for e in range(starts[i], starts[i + 1]):
            square += values[e] ** 2
            for m in range(k):
                slope[m] += values[e] * W[columns[e], m]
        softmax(theta[i], C, old)
        for _ in range(MOST_HALVINGS):
            for m in range(k):
                next_theta[m] = theta[i, m] + rates[i] * slope[m]
            softmax(next_theta, C, new)
            gain = 0.0
            for m in range(k):
                gain += (new[m] - old[m]) * slope[m] - 0.5 * square * (new[m] - old[m]) ** 2
            if gain >= 0.0:
                break
            rates[i] *= 0.5
        if gain < 0.0:
            continue
        rates[i] *= GROWTH
        gained += gain
        theta[i] = next_theta - next_theta.max()
        for e in range(starts[i], starts[i + 1]):
            for m in range(k):
                W[columns[e], m] -= (new[m] - old[m]) * values[e]
    return gained


@njit(cache=True)
def softmax(theta, C, out):
    """C·softmax(theta)."""
    out[:] = np.exp(theta - theta.max())
    out *= C / out.sum()


def gradient_points(
    data: tuple[Any, np.ndarray, Any, np.ndarray], C: float, limit: float
) -> list[Point]:
    """Exponentiated gradient, from the uniform α on, each time n examples at random."""
    X, y, X_test, y_test = data
    rows = sparse.csr_matrix(X, dtype=np.float64)
    n, k = y.size, int(y.max()) + 1
    rng, found, seconds, done = np.random.default_rng(0), [], 0.0, 0
    theta = np.zeros((n, k))
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    rates = 1.0 / np.maximum(C * squares, 1e-12)
    shares = np.full((n, k), -1.0 / k)
    shares[np.arange(n), y] += 1.0
    W = np.ascontiguousarray(C * (rows.T @ shares))
    eg_pass(rows.data, rows.indices, rows.indptr, y, rng.integers(0, n, 0), C, theta, rates, W)
    dual = C * n * (1.0 - 1.0 / k) - 0.5 * float((W**2).sum())
    for passes in PASSES:
        started = time.process_time()
        for _ in range(passes - done):
            drawn = rng.integers(0, n, n)
            dual += eg_pass(
                rows.data, rows.indices, rows.indptr, y, drawn, C, theta, rates, W
            )  # fmt: skip
        done, seconds = passes, seconds + time.process_time() - started
        accuracy = float((np.asarray(X_test @ W).argmax(axis=1) == y_test).mean())
        found.append(Point(passes, seconds, passes, dual, 100 * accuracy))
        if seconds > limit:
            break
    return found


# --- the parts ---------------------------------------------------------------------------------


def rows_of(kind: tuple[object, ...], points: list[Point], best: float) -> Iterator[tuple]:
    for point in points:
        yield (
            *kind, point.steps, f"{point.visits:.1f}", f"{(best - point.dual) / best:.1e}",
            f"{point.accuracy:.2f}", f"{point.seconds:.2f}",
        )  # fmt: skip


def shown(name: str, C: float, runs: dict[str, list[Point]], alike: bool = True) -> None:
    """Print the points of some runs; `alike` says that all have one optimum."""
    everyone, rows = [point for points in runs.values() for point in points], []
    for label, points in runs.items():
        best = max(point.dual for point in (everyone if alike else points))
        rows += rows_of((label,), points, best)
    print(f"\n{name}, C = {C:g}")
    table(("run", "rounds", "visits / n", "(D* − D)/D*", "test %", "CPU s"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["effects", "solvers", "accuracy"])
    parser.add_argument("--quick", action="store_true", help="at most 3,000 rows")
    parser.add_argument("--limit", type=float, default=20.0, help="CPU seconds (default 20)")
    parser.add_argument("--only", default="", help="only data sets whose name contains this")
    args = parser.parse_args()
    print(machine())
    ours: dict[str, Any] = {"solver": "sequential-dual"}
    for name, C in SETS:
        if args.only not in name or (args.part != "solvers" and C != 1.0):
            continue
        data, limit = halves(name, 3_000 if args.quick else None), args.limit
        if args.part == "effects":
            for formulation in FORMULATIONS[1:]:
                runs = {
                    rule: points_of(data, C, limit, formulation=formulation, shrinking=rule, **ours)
                    for rule in RULES
                }
                shown(f"{name}, {formulation}", C, runs)
        elif args.part == "solvers":
            runs = {
                solver: points_of(data, C, limit, solver=solver)
                for solver in ("sequential-dual", "multi-plane", "one-slack")
            }
            shown(name, C, runs | {"exponentiated gradient": gradient_points(data, C, limit)})
        else:
            runs = {one: points_of(data, C, limit, formulation=one, **ours) for one in FORMULATIONS}
            shown(name, C, runs, alike=False)


if __name__ == "__main__":
    main()
