"""Vectors written down entry by entry, many after another: vector i has starts[i] … starts[i + 1].

An index may come more than once in a vector, and then its values add up.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel


@kernel
def differences(index, value, starts, other_index, other_value, other_starts, factor, dim):
    """factor·(vector − other vector) of each pair, without the entries that cancel."""
    dense = np.zeros(dim)
    room = index.size + other_index.size
    new_index, new_value = np.empty(room, np.int64), np.empty(room)
    ends, n = np.zeros(factor.size + 1, np.int64), 0
    for i in range(factor.size):
        for e in range(starts[i], starts[i + 1]):
            dense[index[e]] += value[e]
        for e in range(other_starts[i], other_starts[i + 1]):
            dense[other_index[e]] -= other_value[e]
        for e in range(starts[i], starts[i + 1]):
            j = index[e]
            if dense[j] != 0.0:
                new_index[n], new_value[n] = j, factor[i] * dense[j]
                dense[j] = 0.0
                n += 1
        for e in range(other_starts[i], other_starts[i + 1]):
            j = other_index[e]
            if dense[j] != 0.0:
                new_index[n], new_value[n] = j, factor[i] * dense[j]
                dense[j] = 0.0
                n += 1
        ends[i + 1] = n
    return new_index[:n].copy(), new_value[:n].copy(), ends


@kernel
def square_norms(index, value, starts, dim):
    """‖vector‖² of each."""
    dense, out = np.zeros(dim), np.zeros(starts.size - 1)
    for i in range(out.size):
        for e in range(starts[i], starts[i + 1]):
            dense[index[e]] += value[e]
        for e in range(starts[i], starts[i + 1]):
            out[i] += dense[index[e]] ** 2
            dense[index[e]] = 0.0
    return out
