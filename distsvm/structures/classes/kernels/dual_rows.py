"""Products of a row with the weights of all or some classes, and changes of these.

Row i has entries starts[i] … starts[i + 1] − 1. Dense rows are entries like sparse ones: `columns`
is then one row's, and `dense` says so. Weights Z have shape (d + 1, k), feature by feature, as the
features are; the last row is the constant one's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel


class Entries(NamedTuple):
    """Rows of features, one after another."""

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    dense: bool
    square: np.ndarray  # (d + 1,): the features' scales, squared; last that of the constant one


class ClassLosses(NamedTuple):
    """q of the classes: zero_one·[y ≠ ŷ] where that is above 0, else losses[y, ŷ]."""

    truth: np.ndarray  # int32 (n,)
    zero_one: float
    losses: np.ndarray  # (k, k)
    norms: np.ndarray  # (n,): ‖x_i‖²


class Duals(NamedTuple):
    """The classes with α > 0 of each example, `filled` of them, and what was last seen of it."""

    output: np.ndarray  # int32 (n, size)
    alpha: np.ndarray  # (n, size)
    filled: np.ndarray  # int32 (n,)
    total: np.ndarray  # (n,): the sum of all α with the truth's; or the largest of each
    gap: np.ndarray  # (n,): its share of the gap
    violation: np.ndarray  # (n,): what its best classes exceed the worst ones with α > 0 by


@kernel
def all_scores(values, columns, first, stop, dense, Z, score):
    """score = Z @ x of all classes."""
    e, k, last = first, Z.shape[1], Z.shape[0] - 1
    base = first if dense else 0
    for c in range(k):
        score[c] = Z[last, c]
    # Four entries at a time: rows of Z are short, and reading and writing would take longest.
    while e + 4 <= stop:
        x0, x1 = np.float64(values[e]), np.float64(values[e + 1])
        x2, x3 = np.float64(values[e + 2]), np.float64(values[e + 3])
        z0, z1 = Z[columns[e - base]], Z[columns[e + 1 - base]]
        z2, z3 = Z[columns[e + 2 - base]], Z[columns[e + 3 - base]]
        for c in range(k):
            score[c] += (x0 * z0[c] + x1 * z1[c]) + (x2 * z2[c] + x3 * z3[c])
        e += 4
    while e < stop:
        x0, z0 = np.float64(values[e]), Z[columns[e - base]]
        for c in range(k):
            score[c] += x0 * z0[c]
        e += 1


@kernel
def some_scores(values, columns, first, stop, dense, Z, classes, n, score):
    """score[a] = Z[:, classes[a]] @ x of n classes."""
    base = first if dense else 0
    a, last = 0, Z.shape[0] - 1
    while a + 4 <= n:
        c0, c1, c2, c3 = classes[a], classes[a + 1], classes[a + 2], classes[a + 3]
        s0, s1, s2, s3 = Z[last, c0], Z[last, c1], Z[last, c2], Z[last, c3]
        for e in range(first, stop):
            x, j = np.float64(values[e]), columns[e - base]
            s0 += x * Z[j, c0]
            s1 += x * Z[j, c1]
            s2 += x * Z[j, c2]
            s3 += x * Z[j, c3]
        score[a], score[a + 1], score[a + 2], score[a + 3] = s0, s1, s2, s3
        a += 4
    while a + 2 <= n:
        c0, c1 = classes[a], classes[a + 1]
        s0, s1 = Z[last, c0], Z[last, c1]
        for e in range(first, stop):
            x, j = np.float64(values[e]), columns[e - base]
            s0 += x * Z[j, c0]
            s1 += x * Z[j, c1]
        score[a], score[a + 1] = s0, s1
        a += 2
    if a < n:
        c0 = classes[a]
        s0 = Z[last, c0]
        for e in range(first, stop):
            s0 += np.float64(values[e]) * Z[columns[e - base], c0]
        score[a] = s0


@kernel
def add_row(values, columns, first, stop, dense, square, classes, change, n, Z):
    """Add the row, by the features' scales squared, times its change to each of n classes."""
    base, last = first if dense else 0, Z.shape[0] - 1
    if n == 2:
        c0, c1, d0, d1 = classes[0], classes[1], change[0], change[1]
        for e in range(first, stop):
            j = columns[e - base]
            x = square[j] * np.float64(values[e])
            Z[j, c0] += d0 * x
            Z[j, c1] += d1 * x
    else:
        for e in range(first, stop):
            j = columns[e - base]
            x = square[j] * np.float64(values[e])
            for a in range(n):
                Z[j, classes[a]] += change[a] * x
    for a in range(n):
        Z[last, classes[a]] += change[a] * square[last]
