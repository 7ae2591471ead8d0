"""Visits of the sequential dual method for two classes: one weight vector, one α an example.

The score is that of class 1 less that of class 0; the hinge is max(0, q − ±score). `times` is what
the score's weights change by for each unit of α: 1 for one vector, 2 for the difference of two.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.dual_simplex import ROUNDING


@kernel
def score_of(values, columns, first, stop, dense, z):
    """⟨z, x⟩ of a row."""
    base = first if dense else 0
    even = odd = 0.0
    e = first
    while e + 2 <= stop:
        even += np.float64(values[e]) * z[columns[e - base]]
        odd += np.float64(values[e + 1]) * z[columns[e + 1 - base]]
        e += 2
    if e < stop:
        even += np.float64(values[e]) * z[columns[e - base]]
    return z[z.size - 1] + even + odd


@kernel
def visit_pairs(rows, times, entries, problem, duals, sigma, tol, z):
    """Visit each of these rows: (gain of the dual, of Σ α·q, products with entries of rows)."""
    values, columns, starts, dense, square = entries
    truth, zero_one, losses, norms = problem
    output, alphas, counts, totals, gaps, violations = duals
    gain, linear, work, last = 0.0, 0.0, 0, z.size - 1
    for i in rows:
        total, y = totals[i], truth[i]
        first, stop = starts[i], starts[i + 1]
        base = first if dense else 0
        s = score_of(values, columns, first, stop, dense, z)
        work += stop - first
        q = zero_one if zero_one > 0.0 else losses[y, 1 - y]
        old = alphas[i, 0] if counts[i] > 0 else 0.0
        value = q - s if y == 1 else q + s
        gaps[i] = total * max(0.0, value) - old * value
        curvature = sigma * times * norms[i]
        violations[i] = max(value if old < total else 0.0, -value if old > 0.0 else 0.0)
        if not violations[i] > tol:
            continue
        if curvature * total <= ROUNDING * abs(value):
            new = total if value > 0.0 else 0.0
        else:
            new = min(total, max(0.0, old + value / curvature))
        step = new - old
        gain += step * (value - 0.5 * curvature * step)
        linear += step * q
        output[i, 0], alphas[i, 0], counts[i] = 1 - y, new, 1 if new > 0.0 else 0
        change = sigma * times * (step if y == 1 else -step)
        for e in range(first, stop):
            j = columns[e - base]
            z[j] += change * square[j] * np.float64(values[e])
        z[last] += change * square[last]
        work += stop - first
    return gain, linear, work


@kernel
def judge_pairs(rows, entries, problem, duals, z, hinge):
    """Set the share of the gap and the hinge of each of these rows."""
    values, columns, starts, dense, _ = entries
    truth, zero_one, losses, _ = problem
    _, alphas, counts, totals, gaps, _ = duals
    for at in range(rows.size):
        i = rows[at]
        y = truth[i]
        s = score_of(values, columns, starts[i], starts[i + 1], dense, z)
        q = zero_one if zero_one > 0.0 else losses[y, 1 - y]
        value = q - s if y == 1 else q + s
        hinge[i] = max(0.0, value)
        gaps[i] = totals[i] * hinge[i] - (alphas[i, 0] * value if counts[i] > 0 else 0.0)
