"""Weights in rows, a few of which are changed: the changes are kept beside the weights.

They lie where those of the last round lay, which costs no new memory, and need not be looked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel

WORD = 64
# NumPy has no function for a bit's number. Any 6 bits in a row of this number occur in it once, and
# so tell by how much it was shifted.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_NUMBERS = np.zeros(WORD, np.int64)
for _bit in range(WORD):
    _NUMBERS[((int(_SEQUENCE) << _bit) & (2**64 - 1)) >> 58] = _bit


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
    times: np.ndarray  # (n_rows,): how many times over a change of the row counts


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
def bit_number(bits):
    """The number of the lowest bit that is set."""
    lowest = np.uint64(bits) & np.uint64(-bits)
    return _NUMBERS[(lowest * _SEQUENCE) >> np.uint64(58)]


@kernel
def count_changes(changed):
    total = 0
    for s in range(changed.n[0]):
        for i in range(changed.mask.shape[1]):
            bits = changed.mask[s, i]
            while bits != 0:
                bits &= bits - 1
                total += 1
    return total


@kernel
def write_changes(changed, rows, share, index, value):
    """The place of each changed weight of these rows, and `share` of its change."""
    at, r = 0, changed.V.shape[1]
    for row in rows:
        s, own = changed.slot[row], share / changed.times[row]
        for i in range(changed.mask.shape[1]):
            bits = changed.mask[s, i]
            while bits != 0:
                c = i * WORD + bit_number(bits)
                index[at], value[at] = row * r + c, own * changed.U[s, c]
                at += 1
                bits &= bits - 1


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
            if s < 0:
                continue
            x *= share / changed.times[row]
            for i in range(changed.mask.shape[1]):
                bits = changed.mask[s, i]
                while bits != 0:
                    c = i * WORD + bit_number(bits)
                    z[c] += x * changed.U[s, c]
                    bits &= bits - 1
        for c in range(r):
            out[j, c] = z[c]
