"""Sums and sizes of sequences, from their tokens' sparse rows."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def token_sums(
    values, columns, entries, starts, truth, rows, path_starts, paths, coefficients, place, out
):
    """The emissions' part of out += Σ coefficient·(Ψ(x, y) − Ψ(x, ŷ)).

    Plane p is the path paths[path_starts[p] : path_starts[p + 1]] of sequence rows[p]; only tokens
    where it differs from the truth are touched. As sparse_sums, without its vector of d scales.
    The L sums of column j are out[place[j]].
    """
    for p in range(rows.size):
        k = coefficients[p]
        if k == 0.0:
            continue
        first, path = starts[rows[p]], path_starts[p]
        for t in range(path_starts[p + 1] - path):
            y, label = truth[first + t], paths[path + t]
            if y == label:
                continue
            for e in range(entries[first + t], entries[first + t + 1]):
                x, target = k * values[e], out[place[columns[e]]]
                target[y] += x
                target[label] -= x


@kernel
def claim_places(
    columns, entries, starts, truth, rows, path_starts, paths, place, n_places, claimed
):
    """Give every column that token_sums will touch a place, if it has none; how many there are.

    place[j] is 0 for a column without one, and claimed[place[j]] is j; place 0 is nobody's.
    """
    for p in range(rows.size):
        first, path = starts[rows[p]], path_starts[p]
        for t in range(path_starts[p + 1] - path):
            if truth[first + t] == paths[path + t]:
                continue
            for e in range(entries[first + t], entries[first + t + 1]):
                j = columns[e]
                if place[j] == 0:
                    place[j] = n_places
                    claimed[n_places] = j
                    n_places += 1
    return n_places


@kernel
def filled_entries(sums, claimed, order, index, value):
    """Find all sums but zeros, the claimed columns taken in this order; how many there are.

    index and value have room for all: entry column·L + label of the emissions, and its sum.
    """
    n_labels = sums.shape[1]
    n = 0
    for i in order:
        first = np.int64(claimed[i]) * n_labels
        for c in range(n_labels):
            # Written in any case and kept if it is no zero: no branch to be guessed wrong.
            index[n], value[n] = first + c, sums[i, c]
            n += sums[i, c] != 0.0
    return n


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
