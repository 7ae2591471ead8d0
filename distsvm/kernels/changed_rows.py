"""Weights in rows, a few of which are changed: the changes are kept beside the weights.

They lie where those of the last round lay, which costs no new memory, and need not be looked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel

WORD = 64


class ChangedRows(NamedTuple):
    """The weights V, some of them changed.

    Row order[s], for every s < n[0], has changes: U[s, c] is to be added where bit c of mask[s]
    is set. slot[row] is its s, or −1.
    """

    V: np.ndarray
    U: np.ndarray
    mask: np.ndarray  # int64 (n, ceil(n_columns / WORD))
    slot: np.ndarray
    order: np.ndarray
    n: np.ndarray  # one number


@kernel
def is_changed(mask, s, c):
    return (mask[s, c // WORD] >> (c % WORD)) & 1


@kernel
def add_weight(changed, row, c, x):
    s = changed.slot[row]
    if s < 0:
        s = changed.n[0]
        changed.n[0] = s + 1
        changed.slot[row], changed.order[s] = s, row
        changed.mask[s] = 0
    if is_changed(changed.mask, s, c):
        changed.U[s, c] += x
    else:
        changed.mask[s, c // WORD] |= np.int64(1) << (c % WORD)
        changed.U[s, c] = x


@kernel
def forget(changed):
    """No weight is changed any more."""
    for s in range(changed.n[0]):
        changed.slot[changed.order[s]] = -1
    changed.n[0] = 0


@kernel
def count_changes(changed):
    total = 0
    for s in range(changed.n[0]):
        for c in range(changed.V.shape[1]):
            total += is_changed(changed.mask, s, c)
    return total


@kernel
def write_changes(changed, rows, share, index, value):
    """The place of each changed weight of these rows, and `share` of its change."""
    at, r = 0, changed.V.shape[1]
    for row in rows:
        s = changed.slot[row]
        for c in range(r):
            if is_changed(changed.mask, s, c):
                index[at], value[at] = row * r + c, share * changed.U[s, c]
                at += 1


@kernel
def changed_products(values, columns, entries, tokens, changed, share, out):
    """out[j] = x_t @ W, t = tokens[j]; of the changes W has only this share."""
    r = changed.V.shape[1]
    z = np.empty(r)
    for j in range(tokens.size):
        z[:] = 0.0
        for e in range(entries[tokens[j]], entries[tokens[j] + 1]):
            x, row = np.float64(values[e]), columns[e]
            s, u = changed.slot[row], changed.V[row]
            for c in range(r):
                z[c] += x * u[c]
            if s >= 0:
                for c in range(r):
                    if is_changed(changed.mask, s, c):
                        z[c] += x * share * changed.U[s, c]
        for c in range(r):
            out[j, c] = z[c]
