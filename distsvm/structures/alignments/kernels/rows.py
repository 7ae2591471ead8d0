"""Outputs as rows of numbers: the candidate, the columns of its alignment, and then END.

The columns begin with those that skip letters before a local alignment. Candidates are numbered
through all examples: candidate k of example i is the sequence first[i] + k.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

PAIR, X_ALONE, Y_ALONE, SKIP_X, SKIP_Y, END = range(6)


@kernel
def features(rows, starts, x, x_starts, y, y_starts, first, pair_feature, letters, gap):
    """Ψ of each row: index, value and starts. An index may come more than once.

    `gap` has the feature of the first letter of a run of letters alone, and that of the others.
    """
    ends = np.zeros(starts.size, np.int64)
    index = np.empty(rows.size, np.int64)
    n = 0
    for r in range(starts.size - 1):
        i, j = x_starts[r], y_starts[first[r] + rows[starts[r]]]
        before = PAIR
        for at in range(starts[r] + 1, starts[r + 1]):
            column = rows[at]
            if column == END:
                break
            if column == PAIR:
                index[n] = pair_feature[x[i] * letters + y[j]]
                n += 1
            elif column in (X_ALONE, Y_ALONE):
                index[n] = gap[0] if column != before else gap[1]
                n += 1
            if column in (PAIR, X_ALONE, SKIP_X):
                i += 1
            if column in (PAIR, Y_ALONE, SKIP_Y):
                j += 1
            before = column
        ends[r + 1] = n
    return index[:n].copy(), np.ones(n), ends


@kernel
def misfit(rows, starts, x_lengths, y_lengths, first, n_candidates, whole):
    """The first row that is no output of its example, or −1.

    `whole`: alignments have all letters of both sequences.
    """
    for r in range(starts.size - 1):
        if not 0 <= rows[starts[r]] < n_candidates[r]:
            return r
        n_x, n_y = x_lengths[r], y_lengths[first[r] + rows[starts[r]]]
        i, j, stage = 0, 0, 0  # of skipping letters of x, of y, of columns, and behind the end
        for at in range(starts[r] + 1, starts[r + 1]):
            column = rows[at]
            if column < PAIR or column > END:
                return r
            new = 0 if column == SKIP_X else 1 if column == SKIP_Y else 3 if column == END else 2
            if new < stage or (whole and new < 2):
                return r
            stage = new
            i += column in (PAIR, X_ALONE, SKIP_X)
            j += column in (PAIR, Y_ALONE, SKIP_Y)
        if i > n_x or j > n_y or (whole and (i < n_x or j < n_y)):
            return r
    return -1


@kernel
def partners(row, of_x, of_y):
    """Write for each letter of x and y, from 1 on, which of the other pairs with it, or 0."""
    of_x[:] = 0
    of_y[:] = 0
    i, j = 0, 0
    for column in row[1:]:
        i += column in (PAIR, X_ALONE, SKIP_X)
        j += column in (PAIR, Y_ALONE, SKIP_Y)
        if column == PAIR:
            of_x[i], of_y[j] = j, i


@kernel
def misaligned(rows, starts, others, x_lengths, y_lengths, out):
    """Count the letters of both sequences whose partner differs between two alignments."""
    for r in range(starts.size - 1):
        n_x, n_y = x_lengths[r] + 1, y_lengths[r] + 1
        of_x, of_y = np.empty(n_x, np.int64), np.empty(n_y, np.int64)
        other_x, other_y = np.empty(n_x, np.int64), np.empty(n_y, np.int64)
        partners(rows[starts[r] : starts[r + 1]], of_x, of_y)
        partners(others[starts[r] : starts[r + 1]], other_x, other_y)
        out[r] = (of_x != other_x).sum() + (of_y != other_y).sum()


@kernel
def pair_counts(rows, starts, others, x_lengths, y_lengths):
    """How many pairs alignments and others of the same candidates have, and both of them."""
    n, n_others, n_both = 0, 0, 0
    for r in range(starts.size - 1):
        of_x, of_y = np.empty(x_lengths[r] + 1, np.int64), np.empty(y_lengths[r] + 1, np.int64)
        other_x, other_y = np.empty_like(of_x), np.empty_like(of_y)
        partners(rows[starts[r] : starts[r + 1]], of_x, of_y)
        partners(others[starts[r] : starts[r + 1]], other_x, other_y)
        n += (of_x > 0).sum()
        n_others += (other_x > 0).sum()
        n_both += ((of_x > 0) & (of_x == other_x)).sum()
    return n, n_others, n_both
