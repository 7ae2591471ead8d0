"""Names as bytes in one array, name i from starts[i] to starts[i + 1]: their keys, and equality."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

BASE = np.uint64(0x9E3779B97F4A7C15)


@kernel
def fill_keys(data, starts, keys):
    """keys[i] = Σ_p (byte p + 1)·BASE^(p + 1) modulo 2⁶⁴, as Ragged.keys gives it."""
    for i in range(keys.size):
        power, key = np.uint64(1), np.uint64(0)
        for place in range(starts[i], starts[i + 1]):
            power *= BASE
            key += (np.uint64(data[place]) + np.uint64(1)) * power
        keys[i] = key


@kernel
def fill_same(data, starts, which, other_data, other_starts, others, same):
    """same[n] = whether name which[n] is name others[n] of the others."""
    for n in range(same.size):
        a, b = starts[which[n]], other_starts[others[n]]
        length = starts[which[n] + 1] - a
        n_different = length != other_starts[others[n] + 1] - b
        if not n_different:
            for p in range(length):
                n_different += data[a + p] != other_data[b + p]
        same[n] = n_different == 0
