"""The planes of label paths as signed sums of parts; see distsvm.oracles.listed.PlaneParts.

A part is a token at a label, whose weights are those of its features, or one weight of the chain.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def chain_differences(y, path, n_labels, second, code, sign):
    """The chain's weights in y (+1) and in the path (−1), those in both at one place left out.

    They are numbered as in w, from 0 on; returns how many there are.
    """
    n, m = y.size, 0
    ends = n_labels * n_labels + n_labels
    pairs = ends + n_labels
    triples = pairs + n_labels * n_labels
    for which in range(2):
        own, other = (y, path) if which == 0 else (path, y)
        one = 1.0 if which == 0 else -1.0
        if own[0] != other[0]:
            code[m], sign[m] = n_labels * n_labels + own[0], one
            m += 1
        if own[n - 1] != other[n - 1]:
            code[m], sign[m] = ends + own[n - 1], one
            m += 1
        for t in range(1, n):
            same = own[t] == other[t] and own[t - 1] == other[t - 1]
            if not same:
                code[m], sign[m] = own[t - 1] * n_labels + own[t], one
                m += 1
            if not second:
                continue
            if t == 1 and not same:
                code[m], sign[m] = pairs + own[0] * n_labels + own[1], one
                m += 1
            elif t > 1 and not (same and own[t - 2] == other[t - 2]):
                triple = (own[t - 2] * n_labels + own[t - 1]) * n_labels + own[t]
                code[m], sign[m] = triples + triple, one
                m += 1
    return m


@kernel
def parts_of_paths(
    values, columns, entries, starts, truth, rows, path_starts, paths, factors, n_features,
    n_labels, second, chain_scale, step_values, step_columns, step_entries, n_chain,
):  # fmt: skip
    """factors[p]·(Ψ(x, y) − Ψ(x, ŷ)) of each path as PlaneParts.

    step_values, step_columns and step_entries are the tokens' features on transitions. Their
    weights come last in w, behind the n_chain weights of the chain, their values behind the others.
    step_entries has no tokens where there are none. The chain's parts count chain_scale times.
    """
    # At most: each wrong token at both labels, and the chain's parts at it and behind it.
    has_steps = step_entries.size > 1
    n_terms, n_entries, longest = 0, 0, 0
    for p in range(rows.size):
        first, n = starts[rows[p]], path_starts[p + 1] - path_starts[p]
        longest = max(longest, n)
        for t in range(n):
            if truth[first + t] != paths[path_starts[p] + t]:
                n_terms += 16
                n_entries += 2 * (entries[first + t + 1] - entries[first + t]) + 14
                if has_steps:
                    before = first + max(t - 1, 0)
                    n_terms += 4
                    n_entries += 2 * (step_entries[first + t + 1] - step_entries[before])
    own_starts = np.zeros(rows.size + 1, np.int64)
    key, factor, at = np.empty(n_terms, np.int64), np.empty(n_terms), np.empty(n_terms, np.int64)
    own_entries, index = np.zeros(n_terms + 1, np.int64), np.empty(n_entries, np.int64)
    code, sign = np.empty(6 * longest + 4, np.int64), np.empty(6 * longest + 4)
    n, e_out = 0, 0
    for p in range(rows.size):
        first, length = starts[rows[p]], path_starts[p + 1] - path_starts[p]
        y = truth[first : first + length]
        path = paths[path_starts[p] : path_starts[p + 1]]
        for t in range(length):
            if y[t] == path[t]:
                continue
            e, stop = entries[first + t], entries[first + t + 1]
            start = -1  # where all values are 1, nobody has to look at them again
            for f in range(e, stop):
                if values[f] != 1:
                    start = e
            for which in range(2):
                label = np.int64(y[t]) if which == 0 else np.int64(path[t])
                key[n], at[n] = t * n_labels + label, start
                factor[n] = factors[p] if which == 0 else -factors[p]
                for f in range(e, stop):
                    index[e_out] = np.int64(columns[f]) * n_labels + label
                    e_out += 1
                n += 1
                own_entries[n] = e_out
        if length > 0:
            m = chain_differences(y, path, n_labels, second, code, sign)
            for c in range(m):
                # Below 0, where no token's part is.
                key[n], at[n], factor[n] = -1 - code[c], -1, chain_scale * factors[p] * sign[c]
                index[e_out] = n_features * n_labels + code[c]
                e_out += 1
                n += 1
                own_entries[n] = e_out
        for t in range(length - 1 if has_steps else 0):
            e, stop = step_entries[first + t], step_entries[first + t + 1]
            if e == stop or (y[t] == path[t] and y[t + 1] == path[t + 1]):
                continue
            for which in range(2):
                one, own = (1.0, y) if which == 0 else (-1.0, path)
                step = np.int64(own[t]) * n_labels + own[t + 1]
                key[n] = -1 - n_chain - (t * n_labels * n_labels + step)
                at[n], factor[n] = values.size + e, chain_scale * factors[p] * one
                for f in range(e, stop):
                    place = np.int64(step_columns[f]) * n_labels * n_labels + step
                    index[e_out] = n_features * n_labels + n_chain + place
                    e_out += 1
                n += 1
                own_entries[n] = e_out
        own_starts[p + 1] = n
    return own_starts, key[:n], factor[:n], at[:n], own_entries[: n + 1], index[:e_out]
