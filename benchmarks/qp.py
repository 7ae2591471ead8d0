"""The native QP solver beside cvxpy on working sets of a real cutting-plane run.

    python benchmarks/qp.py [--C 100] [--repeats 15]

The cuts are those of the 1-slack loop on synthetic multiclass data (1,000 examples, 10 classes, 60
features): each working set is what the loop had at 20, 100 and 500 cuts, with nothing dropped. Both
have the tolerance of a relative gap of 1e-8 of the same problem in the same run; the gaps in the
table are true ones, recomputed by one function for both. "warm" starts from the solution without
the last cut, as the loop does; "inside" is the time CLARABEL itself reports, without cvxpy's
modelling.
"""

from __future__ import annotations

import argparse
from statistics import median

import cvxpy as cp
import numpy as np
from support import interleaved, median_ratio, table

from distsvm.qp.base import QPProblem
from distsvm.qp.cvxpy import CvxpyQP
from distsvm.qp.native import NativeQP

SIZES = (20, 100, 500)
REL_GAP = 1e-8

inside_s: list[float] = []


def record_time_inside() -> None:
    solve = cp.Problem.solve

    def recorded(model, *args, **options):
        result = solve(model, *args, **options)
        inside_s.append(model.solver_stats.solve_time)
        return result

    cp.Problem.solve = recorded


def working_sets(C: float, seed: int = 0) -> list[tuple[QPProblem, np.ndarray]]:
    """The problem and the warm start that the 1-slack loop had at each of SIZES cuts."""
    rng = np.random.default_rng(seed)
    n, n_classes, n_features = 1000, 10, 60
    X = rng.normal(size=(n, n_features))
    y = np.argmax(X @ rng.normal(size=(n_features, n_classes)) + 4 * rng.normal(size=(n, 10)), 1)
    rows = np.arange(n)
    A = np.zeros((max(SIZES), n_classes * n_features))
    gram = np.zeros((max(SIZES), max(SIZES)))
    b, alpha, w, found = np.zeros(0), np.zeros(0), np.zeros((n_classes, n_features)), []
    for m in range(1, max(SIZES) + 1):
        scores = X @ w.T + 1.0
        scores[rows, y] -= 1.0
        worst = scores.argmax(axis=1)
        plane = np.zeros_like(w)
        np.add.at(plane, y, X / n)
        np.add.at(plane, worst, -X / n)
        A[m - 1] = plane.ravel()
        gram[m - 1, :m] = gram[:m, m - 1] = A[:m] @ A[m - 1]
        b = np.append(b, np.mean(worst != y))
        alpha = np.append(alpha, 0.0)
        problem = QPProblem(gram[:m, :m].copy(), b, np.zeros(m, np.int64), np.array([C]))
        if m in SIZES:
            found.append((problem, alpha))
        alpha = NativeQP().solve(problem, alpha, 1e-12 * C).alpha
        w = (alpha @ A[:m]).reshape(w.shape)
    return found


def compare(problem: QPProblem, warm: np.ndarray, repeats: int) -> list[str]:
    cold = np.zeros(problem.size)
    native, peer = NativeQP(), CvxpyQP("CLARABEL", {})
    tol = REL_GAP * native.solve(problem, warm, 0.0).value
    solve = {
        "cold": lambda: native.solve(problem, cold, tol),
        "warm": lambda: native.solve(problem, warm, tol),
        "cvxpy": lambda: peer.solve(problem, cold, tol),
    }
    gap = {name: run().gap / (tol / REL_GAP) for name, run in solve.items()}
    inside_s.clear()
    seconds = interleaved(solve, repeats)
    inside = inside_s[-repeats:]
    return [
        str(problem.size),
        str(np.count_nonzero(warm)),
        *(f"{1e3 * median(seconds[name]):.3f}" for name in solve),
        f"{1e3 * median(inside):.3f}",
        f"{median_ratio(seconds['cvxpy'], seconds['warm']):.0f}",
        f"{median_ratio(inside, seconds['warm']):.0f}",
        f"{median_ratio(seconds['cvxpy'], seconds['cold']):.0f}",
        *(f"{gap[name]:.0e}" for name in solve),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    record_time_inside()
    print(f"C = {given.C:g}; times in ms, medians of {given.repeats} runs")
    head = "cuts support cold warm cvxpy inside cvxpy/warm inside/warm cvxpy/cold"
    rows = [compare(*made, given.repeats) for made in working_sets(given.C)]
    table([*head.split(), "gap cold", "gap warm", "gap cvxpy"], rows)


if __name__ == "__main__":
    main()
