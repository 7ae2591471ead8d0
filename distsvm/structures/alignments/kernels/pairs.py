"""Scores and alignments of many pairs of sequences, in groups of lanes."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.alignments.kernels.lanes import (
    BEGAN,
    H_IS_X,
    LANES,
    P_IS_Y,
    Q_IS_X,
    X_GOES_ON,
    Y_GOES_ON,
    fill,
)
from distsvm.structures.alignments.kernels.rows import (
    END,
    PAIR,
    SKIP_X,
    SKIP_Y,
    X_ALONE,
    Y_ALONE,
    partners,
)

TRACE_BYTES = 1 << 19
"""Of the choices that a group of lanes keeps: they stay in the processor's cache."""
MOST_BYTES, WIDE = 1 << 26, 16
"""Up to MOST_BYTES a group has WIDE lanes all the same, as few lanes are slow."""


@kernel
def laid_out(letters, starts, which, pad):
    """The sequences side by side: `pad`, then a row a place; behind a sequence `pad` again."""
    longest = 0
    for k in which:
        longest = max(longest, starts[k + 1] - starts[k])
    out = np.full((longest + 1) * which.size, pad, np.uint32)
    lengths = np.empty(which.size, np.int64)
    for lane in range(which.size):
        k = which[lane]
        lengths[lane] = starts[k + 1] - starts[k]
        for place in range(lengths[lane]):
            out[(place + 1) * which.size + lane] = letters[starts[k] + place]
    return out, lengths


@kernel
def scores(S, width, open_, extend, floor, x, x_starts, y, y_starts, of_x, of_y, order, out):
    """Write the score of the best alignment of each pair (of_x[k], of_y[k]) to out[k].

    `order` has the pairs with the longest x first.
    """
    for begin in range(0, order.size, LANES):
        group = order[begin : begin + LANES]
        lanes_x, nx = laid_out(x, x_starts, of_x[group], width - 1)
        lanes_y, ny = laid_out(y, y_starts, of_y[group], width - 1)
        best = np.empty(group.size, S.dtype)
        fill(S, width, open_, extend, floor, lanes_x, nx, lanes_y, ny, None, best, None, None)
        out[group] = best


@kernel
def align(
    S, width, open_, extend, floor, x, x_starts, y, y_starts, of_x, of_y, order, truth,
    truth_starts, loss, candidate, out, out_starts, best,
):  # fmt: skip
    """Write the best alignment of each pair to its row of `out`, and its score to `best`.

    With `truth` of any rows, each pair is scored with `loss` for every letter of both sequences
    that pairs with another one than there, or with one and not with none. Where nothing is aligned
    all letters that should be are wrong; so a pair (i, j) adds the loss once for each of its
    letters that is alone in the truth, and takes it off twice if it is a pair there. The constant,
    of the empty alignment, is left out.
    """
    begin, trace = 0, np.empty(0, np.uint8)
    while begin < order.size:
        k = order[begin]
        cells = (x_starts[of_x[k] + 1] - x_starts[of_x[k]] + 1) * (
            y_starts[of_y[k] + 1] - y_starts[of_y[k]] + 1
        )
        lanes = max(TRACE_BYTES // cells, min(WIDE, MOST_BYTES // cells))
        lanes = max(1, min(LANES, lanes))
        group = order[begin : begin + lanes]
        begin += group.size
        lanes_x, nx = laid_out(x, x_starts, of_x[group], width - 1)
        lanes_y, ny = laid_out(y, y_starts, of_y[group], width - 1)
        scored, where = np.empty(group.size, S.dtype), np.empty(group.size, np.int64)
        columns = lanes_y.size // group.size
        if trace.size < lanes_x.size * columns:
            trace = np.empty(lanes_x.size * columns, np.uint8)
        if truth is None:
            fill(
                S, width, open_, extend, floor, lanes_x, nx, lanes_y, ny, None, scored, where, trace
            )
        else:
            extra = costs(S, truth, truth_starts, loss, group, lanes_x.size, lanes_y.size, nx, ny)
            fill(
                S, width, open_, extend, floor, lanes_x, nx, lanes_y, ny, extra, scored, where,
                trace,
            )  # fmt: skip
        for lane in range(group.size):
            k = group[lane]
            best[k] = scored[lane]
            row = out[out_starts[k] : out_starts[k + 1]]
            row[0] = candidate[k]
            follow(trace, where[lane], columns, lane, group.size, floor == 0.0, row)


@kernel
def costs(S, truth, truth_starts, loss, group, size_x, size_y, nx, ny):
    """What pairs of these lanes add to their scores, as `fill` takes it."""
    lanes = group.size
    alone_x, alone_y = np.zeros(size_x, S.dtype), np.zeros(size_y, S.dtype)
    partner, bonus = np.full(size_x, -1, np.int32), np.zeros(size_x, S.dtype)
    for lane in range(lanes):
        k = group[lane]
        of_x, of_y = np.empty(nx[lane] + 1, np.int64), np.empty(ny[lane] + 1, np.int64)
        partners(truth[truth_starts[k] : truth_starts[k + 1]], of_x, of_y)
        for i in range(1, of_x.size):
            if of_x[i]:
                partner[i * lanes + lane], bonus[i * lanes + lane] = of_x[i], -2.0 * loss
            else:
                alone_x[i * lanes + lane] = loss
        for j in range(1, of_y.size):
            if not of_y[j]:
                alone_y[j * lanes + lane] = loss
    return alone_x, alone_y, partner, bonus


@kernel
def follow(trace, where, columns, lane, lanes, local, row):
    """Write the columns of the alignment that ends in the cell `where`, found from the back."""
    i, j = where // columns, where % columns
    found = np.empty(i + j, np.int8)
    n = 0
    # From a cell: the state that has its H, its X, its Y, or its M.
    here = trace[where * lanes + lane]
    state = X_ALONE if here & H_IS_X else Y_ALONE if here & P_IS_Y else PAIR
    while i or j:
        here = trace[(i * columns + j) * lanes + lane]
        if state == PAIR and local and here & BEGAN:
            break
        found[n] = state
        n += 1
        i -= state != Y_ALONE
        j -= state != X_ALONE
        before = trace[(i * columns + j) * lanes + lane]
        if state == PAIR:
            state = X_ALONE if before & H_IS_X else Y_ALONE if before & P_IS_Y else PAIR
        elif state == X_ALONE and not before & X_GOES_ON:
            state = Y_ALONE if before & P_IS_Y else PAIR
        elif state == Y_ALONE and not before & Y_GOES_ON:
            state = X_ALONE if before & Q_IS_X else PAIR
    if not n:
        i, j = 0, 0
    row[1:] = END
    row[1 : 1 + i] = SKIP_X
    row[1 + i : 1 + i + j] = SKIP_Y
    for at in range(n):
        row[1 + i + j + at] = found[n - 1 - at]
