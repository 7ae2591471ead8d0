"""What is done with the α of all examples: who is free, sums of planes, mixtures of two states."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.dual_rows import add_row


@kernel
def free_rows(rows, simplex, duals, out):
    """Write those of the rows whose α are not all at bounds; how many there are."""
    n = 0
    for i in rows:
        count, total = duals.filled[i], duals.total[i]
        free = simplex and count > 1
        for a in range(count):
            free = free or duals.alpha[i, a] < total
        if free:
            out[n] = i
            n += 1
    return n


@kernel
def count_values(rows, simplex, alone, duals):
    """How many values of g visits of the free classes of these rows compute."""
    n = 0
    for i in rows:
        own = 0
        for a in range(duals.filled[i]):
            if simplex or duals.alpha[i, a] < duals.total[i]:
                own += 1
        n += own if alone else own + 1
    return n


@kernel
def sum_rows(entries, truth, alone, output, alpha, count, weights):
    """weights += Σ α·p, for weights of shape (d + 1, k); entries.square holds the plain scales."""
    values, columns, starts, dense, scale = entries
    k = weights.shape[1]
    chosen, change = np.zeros(k + 1, np.int32), np.zeros(k + 1)
    for i in range(count.size):
        m, total = count[i], 0.0
        for a in range(m):
            c = output[i, a]
            chosen[a] = c
            change[a] = alpha[i, a] if alone and c == truth[i] else -alpha[i, a]
            total += alpha[i, a]
        if m > 0 and not alone:
            chosen[m], change[m] = truth[i], total
            m += 1
        if m > 0:
            add_row(
                values, columns, starts[i], starts[i + 1], dense, scale, chosen, change, m, weights
            )


@kernel
def sum_losses(problem, output, alpha, count):
    """Σ α·q."""
    total = 0.0
    for i in range(count.size):
        for a in range(count[i]):
            q = problem.zero_one
            if not q > 0.0:
                q = problem.losses[problem.truth[i], output[i, a]]
            total += alpha[i, a] * q
    return total


@kernel
def mix_lists(output, alpha, count, new_output, new_alpha, new_count, share, to, to_alpha, n):
    """(1 − share)·α + share·(new α), written to lists with room for both; n is their lengths."""
    for i in range(count.size):
        m = 0
        for a in range(count[i]):
            to[i, m], to_alpha[i, m] = output[i, a], (1.0 - share) * alpha[i, a]
            m += 1
        for b in range(new_count[i]):
            at = 0
            while at < m and to[i, at] != new_output[i, b]:
                at += 1
            if at == m:
                to[i, m], to_alpha[i, m] = new_output[i, b], 0.0
                m += 1
            to_alpha[i, at] += share * new_alpha[i, b]
        kept = 0
        for a in range(m):
            if to_alpha[i, a] > 0.0:
                to[i, kept], to_alpha[i, kept] = to[i, a], to_alpha[i, a]
                kept += 1
        n[i] = kept


@kernel
def count_entries(X, starts):
    """Set where each row's values that are not 0 start, once they are in a row; starts[0] is 0."""
    for i in range(X.shape[0]):
        n = 0
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                n += 1
        starts[i + 1] = starts[i] + n


@kernel
def write_entries(X, values, columns):
    """Write all values that are not 0, row by row, and their columns."""
    e = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                values[e], columns[e] = X[i, j], j
                e += 1
