"""Input features of transitions: Σ_t Φ(x_t) ⊗ Λ(y_t) ⊗ Λ(y_{t+1}), from sparse rows of Φ.

The weight of column j at label a before label c is U[j, a·L + c]. The last token of a sequence has
no step, so its row is empty.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def step_margins(
    values, columns, entries, starts, truth, rows, path_starts, paths, U, n_labels, out
):
    """out[p] = what the truth's steps score by their inputs, less what the path's do."""
    for p in range(rows.size):
        first, path = starts[rows[p]], path_starts[p]
        total = 0.0
        for t in range(path_starts[p + 1] - path - 1):
            own = np.int64(truth[first + t]) * n_labels + truth[first + t + 1]
            other = np.int64(paths[path + t]) * n_labels + paths[path + t + 1]
            if own == other:
                continue
            for e in range(entries[first + t], entries[first + t + 1]):
                weights = U[columns[e]]
                total += np.float64(values[e]) * (weights[own] - weights[other])
        out[p] = total


@kernel
def step_sums(
    values, columns, entries, starts, truth, rows, path_starts, paths, coefficients, n_labels, out
):
    """out += Σ_p coefficients[p]·(the truth's features of steps − the path's), shape as of U."""
    for p in range(rows.size):
        first, path, k = starts[rows[p]], path_starts[p], coefficients[p]
        if k == 0.0:
            continue
        for t in range(path_starts[p + 1] - path - 1):
            own = np.int64(truth[first + t]) * n_labels + truth[first + t + 1]
            other = np.int64(paths[path + t]) * n_labels + paths[path + t + 1]
            if own == other:
                continue
            for e in range(entries[first + t], entries[first + t + 1]):
                x = k * values[e]
                out[columns[e], own] += x
                out[columns[e], other] -= x
