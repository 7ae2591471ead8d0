"""Classes as codes, and what a step over an example's classes changes.

For kernels/climb_classes.py, over the held classes, and kernels/climb_whole.py, over all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.codes import Codes, difference, widest
from distsvm.kernels.options import kernel

DENSE_VISIT = 1000
"""What a visit of a dense row takes besides its products, which are fast, in terms of those."""


class Coding(NamedTuple):
    """Classes as codes of length r: ψ = x ⊗ (Λ(y) − Λ(ŷ)).

    `unit` says that Λ(y) is the unit vector of y; then `codes` are not read.
    """

    truth: np.ndarray  # int32 (n,)
    codes: Codes
    unit: bool
    slack: bool


class Scratch(NamedTuple):
    """Room for one difference of codes, and for one as a dense vector, which is 0 between uses."""

    columns: np.ndarray  # int64
    values: np.ndarray
    dense: np.ndarray  # (r,)


@kernel
def scratch_for(coding, r):
    """Room for the calls of one kernel; r, the length of a code."""
    n, r = (1, 0) if coding.unit else (widest(coding.codes), r)
    return Scratch(np.empty(n, np.int64), np.empty(n), np.zeros(r))


@kernel
def spread_out(coding, y, a, scratch):
    """Write Λ(y) − Λ(a) into the dense vector."""
    for e in range(difference(coding.codes, y, a, scratch.columns, scratch.values)):
        scratch.dense[scratch.columns[e]] = scratch.values[e]


@kernel
def clear(coding, y, a, scratch):
    """Make the dense vector 0 after spread_out."""
    for e in range(difference(coding.codes, y, a, scratch.columns, scratch.values)):
        scratch.dense[scratch.columns[e]] = 0.0


@kernel
def product_with(coding, y, b, scratch):
    """⟨dense, Λ(y) − Λ(b)⟩."""
    total = 0.0
    for e in range(difference(coding.codes, y, b, scratch.columns, scratch.values)):
        total += scratch.dense[scratch.columns[e]] * scratch.values[e]
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
