"""Sums and sizes of sequences, from their tokens' sparse rows."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def token_sums(
    values, columns, entries, starts, truth, rows, path_starts, paths, coefficients, out
):
    """The emissions' part of out += Σ coefficient·(Ψ(x, y) − Ψ(x, ŷ)), out of shape (d, L).

    Plane p is the path paths[path_starts[p] : path_starts[p + 1]] of sequence rows[p]; only tokens
    where it differs from the truth are touched. As sparse_sums, without its vector of d scales.
    """
    for p in range(rows.size):
        k = coefficients[p]
        if k == 0.0:
            continue
        first, place = starts[rows[p]], path_starts[p]
        for t in range(path_starts[p + 1] - place):
            y, label = truth[first + t], paths[place + t]
            if y == label:
                continue
            for e in range(entries[first + t], entries[first + t + 1]):
                x, target = k * values[e], out[columns[e]]
                target[y] += x
                target[label] -= x


@kernel
def square_norms(values, columns, entries, starts, truth, n_labels, out):
    """out[m] = ‖the emissions' part of Ψ(x, y)‖²: equal features of one label are added first."""
    most = 0
    for m in range(out.size):
        most = max(most, entries[starts[m + 1]] - entries[starts[m]])
    size = 1
    while size < 2 * most:
        size *= 2
    keys, sums = np.empty(size, np.int64), np.empty(size)
    for m in range(out.size):
        size = 1  # a table of the sequence's own size, so that short ones are fast
        while size < 2 * (entries[starts[m + 1]] - entries[starts[m]]):
            size *= 2
        keys[:size] = -1
        for t in range(starts[m], starts[m + 1]):
            for e in range(entries[t], entries[t + 1]):
                key = np.int64(columns[e]) * n_labels + truth[t]
                place = (key * 0x9E3779B97F4A7C1 >> 20) & (size - 1)
                while keys[place] != key and keys[place] >= 0:
                    place = (place + 1) & (size - 1)
                if keys[place] < 0:
                    keys[place], sums[place] = key, 0.0
                sums[place] += values[e]
        total = 0.0
        for place in range(size):
            if keys[place] >= 0:
                total += sums[place] * sums[place]
        out[m] = total
