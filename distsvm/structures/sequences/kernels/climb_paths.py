"""Steps of the dual over cached label paths; see kernels/climb.py.

The emissions are ChangedRows, a row a feature; the chain's parts, which are small, are copies as a
whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.changed_rows import add_weight, is_changed
from distsvm.kernels.climb import raise_dual
from distsvm.kernels.options import kernel


class Sentences(NamedTuple):
    """Tokens with sparse features and their true labels; sentence i has starts[i] … and so on."""

    values: np.ndarray
    columns: np.ndarray  # increasing within a token
    entries: np.ndarray
    starts: np.ndarray
    truth: np.ndarray
    times: np.ndarray  # (n_features,): how many times over a change of its weights counts
    chain_times: float  # the same of the chain's weights


class Chain(NamedTuple):
    """Weights of the labels' order, or changes of them; pairs and triples are empty at order 1."""

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    pairs: np.ndarray
    triples: np.ndarray


@kernel
def chain_score(path, chain):
    """What the labels of one path bring, but for their emissions."""
    second = chain.pairs.shape[0] > 0
    total = chain.start[path[0]] + chain.end[path[-1]]
    for t in range(1, path.size):
        total += chain.transitions[path[t - 1], path[t]]
    if second and path.size > 1:
        total += chain.pairs[path[0], path[1]]
        for t in range(2, path.size):
            total += chain.triples[path[t - 2], path[t - 1], path[t]]
    return total


@kernel
def chain_add(path, k, chain):
    """Add k for every part of the chain that the path has."""
    second = chain.pairs.shape[0] > 0
    chain.start[path[0]] += k
    chain.end[path[-1]] += k
    for t in range(1, path.size):
        chain.transitions[path[t - 1], path[t]] += k
    if second and path.size > 1:
        chain.pairs[path[0], path[1]] += k
        for t in range(2, path.size):
            chain.triples[path[t - 2], path[t - 1], path[t]] += k


@kernel
def token_score(s, t, label, changed):
    V, U, mask, slot = changed.V, changed.U, changed.mask, changed.slot
    first, stop = s.entries[t], s.entries[t + 1]
    total = 0.0
    # All of V before the changes: without branches the processor fetches several rows at once.
    for e in range(first, stop):
        total += np.float64(s.values[e]) * V[s.columns[e], label]
    for e in range(first, stop):
        at = slot[s.columns[e]]
        if at >= 0 and is_changed(mask, at, label):
            total += np.float64(s.values[e]) * U[at, label]
    return total


@kernel
def token_add(s, t, label, k, changed):
    for e in range(s.entries[t], s.entries[t + 1]):
        add_weight(changed, s.columns[e], label, k * s.times[s.columns[e]] * s.values[e])


@kernel
def visit_paths(rows, s, held, first, paths, slack, sigma, max_steps, tol, changed, chain):
    """Climb over each of these examples in turn: the gain of the dual and of Σ α·q, and the work.

    The s-th plane of example i is the path from first[i] + s·T on, T its number of tokens.
    """
    size, n_labels = held.q.shape[1], changed.V.shape[1]
    most = 0
    for i in rows:
        most = max(most, s.starts[i + 1] - s.starts[i])
    score = np.empty((most, n_labels))
    coefficient = np.zeros((most, n_labels))
    known = np.zeros((most, n_labels), np.int64)
    value, step = np.empty(size), np.empty(size)
    gain, linear, work, visit = 0.0, 0.0, 0, 0
    for i in rows:
        m = held.count[i]
        begin, stop = s.starts[i], s.starts[i + 1]
        n = stop - begin
        if m == 0:
            continue
        visit += 1
        y = s.truth[begin:stop]
        base = chain_score(y, chain)
        for k in range(m):
            path = paths[first[i] + k * n : first[i] + (k + 1) * n]
            margin = base - chain_score(path, chain)
            for t in range(n):
                if path[t] == y[t]:
                    continue
                for label in (y[t], path[t]):
                    if known[t, label] != visit:
                        known[t, label] = visit
                        score[t, label] = token_score(s, begin + t, label, changed)
                        work += s.entries[begin + t + 1] - s.entries[begin + t]
                margin += score[t, y[t]] - score[t, path[t]]
            q = held.q[i, k]
            value[k] = q * (1.0 - margin) if slack else q - margin
            work += n
        own = raise_dual(held, i, value[:m], sigma, max_steps, tol, step[:m])
        if own == 0.0:
            continue
        gain += own
        balance = 0.0
        for k in range(m):
            if step[k] == 0.0:
                continue
            linear += step[k] * held.q[i, k]
            c = sigma * step[k] * (held.q[i, k] if slack else 1.0)
            balance += c
            path = paths[first[i] + k * n : first[i] + (k + 1) * n]
            chain_add(path, -c * s.chain_times, chain)
            for t in range(n):
                if path[t] != y[t]:
                    coefficient[t, y[t]] += c
                    coefficient[t, path[t]] -= c
        if balance != 0.0:
            chain_add(y, balance * s.chain_times, chain)
        for k in range(m):
            if step[k] == 0.0:
                continue
            path = paths[first[i] + k * n : first[i] + (k + 1) * n]
            for t in range(n):
                if path[t] == y[t]:
                    continue
                for label in (y[t], path[t]):
                    c = coefficient[t, label]
                    if c != 0.0:
                        coefficient[t, label] = 0.0
                        token_add(s, begin + t, label, c, changed)
                        work += s.entries[begin + t + 1] - s.entries[begin + t]
    return gain, linear, work


@kernel
def token_product(s, a, b):
    """⟨x_a, x_b⟩ of two tokens."""
    if a == b:
        total = 0.0
        for e in range(s.entries[a], s.entries[a + 1]):
            x = np.float64(s.values[e])
            total += s.times[s.columns[e]] * x * x
        return total
    total = 0.0
    e, f = s.entries[a], s.entries[b]
    while e < s.entries[a + 1] and f < s.entries[b + 1]:
        if s.columns[e] < s.columns[f]:
            e += 1
        elif s.columns[e] > s.columns[f]:
            f += 1
        else:
            total += s.times[s.columns[e]] * np.float64(s.values[e]) * np.float64(s.values[f])
            e += 1
            f += 1
    return total


@kernel
def chain_entries(y, path, n_labels, second, code, sign):
    """Parts of the chain in y (+1) and in the path (−1), those in both at one place left out."""
    n, m = y.size, 0
    for which in range(2):
        own, other = (y, path) if which == 0 else (path, y)
        one = 1.0 if which == 0 else -1.0
        if own[0] != other[0]:
            code[m], sign[m] = own[0], one
            m += 1
        if own[n - 1] != other[n - 1]:
            code[m], sign[m] = n_labels + own[n - 1], one
            m += 1
        for t in range(1, n):
            if own[t] != other[t] or own[t - 1] != other[t - 1]:
                code[m], sign[m] = (2 + own[t - 1]) * n_labels + own[t], one
                m += 1
            if second and t == 1 and (own[1] != other[1] or own[0] != other[0]):
                code[m] = (2 + n_labels + own[0]) * n_labels + own[1]
                sign[m] = one
                m += 1
            if (
                second
                and t > 1
                and (own[t] != other[t] or own[t - 1] != other[t - 1] or own[t - 2] != other[t - 2])
            ):
                triple = (own[t - 2] * n_labels + own[t - 1]) * n_labels + own[t]
                code[m] = (2 + 2 * n_labels) * n_labels + triple
                sign[m] = one
                m += 1
    return m


@kernel
def gram_of_paths(rows, slots, s, held, first, paths, slack, n_labels, second):
    """Fill the rows and columns of the examples' Gram matrices that belong to these slots."""
    most = 0
    for i in rows:
        most = max(most, s.starts[i + 1] - s.starts[i])
    code, other_code = np.empty(6 * most + 4, np.int64), np.empty(6 * most + 4, np.int64)
    sign, other_sign = np.empty(6 * most + 4), np.empty(6 * most + 4)
    for r in range(rows.size):
        i, slot = rows[r], slots[r]
        begin, n = s.starts[i], s.starts[i + 1] - s.starts[i]
        y = s.truth[begin : begin + n]
        path = paths[first[i] + slot * n : first[i] + (slot + 1) * n]
        n_code = chain_entries(y, path, n_labels, second, code, sign)
        for k in range(held.count[i]):
            other = paths[first[i] + k * n : first[i] + (k + 1) * n]
            total = 0.0
            n_other = chain_entries(y, other, n_labels, second, other_code, other_sign)
            for a in range(n_code):
                for b in range(n_other):
                    if code[a] == other_code[b]:
                        total += s.chain_times * sign[a] * other_sign[b]
            for t in range(n):
                if path[t] == y[t]:
                    continue
                for u in range(n):
                    if other[u] == y[u]:
                        continue
                    times = 0.0
                    times += 1.0 if y[t] == y[u] else 0.0
                    times -= 1.0 if y[t] == other[u] else 0.0
                    times -= 1.0 if path[t] == y[u] else 0.0
                    times += 1.0 if path[t] == other[u] else 0.0
                    if times != 0.0:
                        total += times * token_product(s, begin + t, begin + u)
            if slack:
                total *= held.q[i, slot] * held.q[i, k]
            held.gram[i, slot, k] = held.gram[i, k, slot] = total
