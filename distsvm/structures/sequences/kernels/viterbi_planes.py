"""Values and sums of given paths; chains and states as in kernels/viterbi.py."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel


@inner_kernel
def chain_margin(y, path, table, opening, start, end):
    """What y's labels bring in the chain, less what the path's bring; equal steps are left out."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    total = 0.0
    a, s = np.int64(y[0]), np.int64(path[0])
    if a != s:
        total += start[a] - start[s]
    for t in range(1, y.size):
        earlier_a, earlier_s = a, s
        a = earlier_a % n_blocks * n_labels + y[t]
        s = earlier_s % n_blocks * n_labels + path[t]
        if a != s or earlier_a != earlier_s:
            prices = opening if t == 1 else table
            total += (
                prices[a // n_labels, earlier_a // n_blocks, y[t]]
                - prices[s // n_labels, earlier_s // n_blocks, path[t]]
            )
    if y[-1] != path[-1]:
        total += end[y[-1]] - end[path[-1]]
    return total


@kernel
def path_values(
    emissions, starts, truth, output, q, slack, table, opening, start, end, steps, value
):  # fmt: skip
    """q − ⟨p, w⟩ of one path of each sequence, from the scores of all labels of its tokens.

    A path whose value is below the truth's, 0, was found by rounding alone, and becomes the truth:
    `output` and `q` are changed.
    """
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        if first == stop or q[m] == 0.0:
            value[m] = 0.0
            continue
        margin = chain_margin(truth[first:stop], output[first:stop], table, opening, start, end)
        for t in range(first, stop):
            if truth[t] != output[t]:
                margin += emissions[t, truth[t]] - emissions[t, output[t]]
        if steps.shape[0]:
            for t in range(first, stop - 1):
                a, b = truth[t], output[t]
                c, d = truth[t + 1], output[t + 1]
                if a != b or c != d:
                    margin += steps[t, a, c] - steps[t, b, d]
        value[m] = q[m] * (1.0 - margin) if slack else q[m] - margin
        if value[m] < 0.0:
            value[m], q[m] = 0.0, 0.0
            for t in range(first, stop):
                output[t] = truth[t]


@kernel
def plane_values(
    values, columns, entries, starts, truth, rows, path_starts, paths, q, slack, V,
    table, opening, start, end, out,
):  # fmt: skip
    """q − ⟨p, w⟩ of any planes, from the features of the tokens where they differ from the truth.

    Planes of one sequence that follow one another share what they have in common: the score of a
    label at a token is found once. Far cheaper than the scores of all labels.

    Parameters
    ----------
    values, columns, entries : the tokens' sparse rows
    starts, truth : tokens of each sequence, and their labels
    rows : int64 array of shape (m,), the planes' sequences
    path_starts, paths : the planes' labels
    q : array of shape (m,)
    V : array of shape (n_columns, L)
    """
    n_labels = V.shape[1]
    most = 0
    for p in range(rows.size):
        most = max(most, path_starts[p + 1] - path_starts[p])
    known = np.empty((most, n_labels))
    run_of = np.zeros((most, n_labels), np.int64)
    run = 0
    for p in range(rows.size):
        if p == 0 or rows[p] != rows[p - 1]:
            run += 1
        first, stop = starts[rows[p]], starts[rows[p] + 1]
        if first == stop:
            out[p] = q[p]
            continue
        path, y = paths[path_starts[p] : path_starts[p + 1]], truth[first:stop]
        margin = chain_margin(y, path, table, opening, start, end)
        for t in range(y.size):
            if y[t] == path[t]:
                continue
            for label in (y[t], path[t]):
                if run_of[t, label] != run:
                    total = 0.0
                    for e in range(entries[first + t], entries[first + t + 1]):
                        total += np.float64(values[e]) * V[columns[e], label]
                    known[t, label] = total
                    run_of[t, label] = run
            margin += known[t, y[t]] - known[t, path[t]]
        out[p] = q[p] * (1.0 - margin) if slack else q[p] - margin


@kernel
def chain_sums(starts, truth, rows, path_starts, paths, coefficients, table, opening, start, end):
    """The chain's part of Σ coefficient·(Ψ(x, y) − Ψ(x, ŷ)), added to arrays like the chain's."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    for p in range(rows.size):
        first, stop = starts[rows[p]], starts[rows[p] + 1]
        k = coefficients[p]
        if first == stop or k == 0.0:
            continue
        y, path = truth[first:stop], paths[path_starts[p] : path_starts[p + 1]]
        a, s = np.int64(y[0]), np.int64(path[0])
        if a != s:
            start[a] += k
            start[s] -= k
        for t in range(1, y.size):
            earlier_a, earlier_s = a, s
            a = earlier_a % n_blocks * n_labels + y[t]
            s = earlier_s % n_blocks * n_labels + path[t]
            if a != s or earlier_a != earlier_s:
                target = opening if t == 1 else table
                target[a // n_labels, earlier_a // n_blocks, y[t]] += k
                target[s // n_labels, earlier_s // n_blocks, path[t]] -= k
        if y[-1] != path[-1]:
            end[y[-1]] += k
            end[path[-1]] -= k
