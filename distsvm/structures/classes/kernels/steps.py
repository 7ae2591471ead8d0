"""Classes as codes, and what a step over an example's classes changes.

For kernels/climb_classes.py, over the held classes, and kernels/climb_whole.py, over all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel

DENSE_VISIT = 1000
"""What a visit of a dense row takes besides its products, which are fast, in terms of those."""


class Coding(NamedTuple):
    """Classes as codes of length r: ψ = x ⊗ (code(y) − code(ŷ)).

    `unit` says that code(y) is the unit vector of y; then `codes` is not read.
    """

    truth: np.ndarray  # int32 (n,)
    codes: np.ndarray  # (k, r)
    unit: bool
    slack: bool


@kernel
def code_product(coding, y, a, b):
    """⟨code(y) − code(a), code(y) − code(b)⟩, where neither a nor b is y."""
    if coding.unit:
        return 2.0 if a == b else 1.0
    total = 0.0
    for c in range(coding.codes.shape[1]):
        own = coding.codes[y, c]
        total += (own - coding.codes[a, c]) * (own - coding.codes[b, c])
    return total


@kernel
def moved_columns(change, columns, n, sigma, square, bias):
    """Take those of n columns to the front that change, now σ times as much; how many there are.

    The constant feature's weights, `bias`, change at once; `square` is its scale, squared.
    """
    n_moved = 0
    for a in range(n):
        if change[a] != 0.0:
            columns[n_moved], change[n_moved] = columns[a], sigma * change[a]
            bias[columns[n_moved]] += change[n_moved] * square
            n_moved += 1
    return n_moved


@kernel
def add_dense_row(x, square, change, columns, n_moved, Z):
    """Add to each of these columns the row, by each feature's squared scale, times its change."""
    for j in range(x.size):
        x[j] *= square[j]
    for a in range(n_moved):
        k, z = change[a], Z[columns[a]]
        for j in range(x.size):
            z[j] += k * x[j]
