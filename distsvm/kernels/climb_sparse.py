"""Steps of the dual over planes given as sparse vectors; see kernels/climb.py.

Plane k of example rows[j] is number base[j] + k: it has the entries starts[that] … of `index` and
`value`, in any order; an index may come more than once, and then its values add up.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.climb import raise_dual
from distsvm.kernels.options import kernel


@kernel
def visit_sparse(rows, base, index, value, starts, held, sigma, max_steps, tol, z):
    """Climb over each of these examples in turn: the gain of the dual and of Σ α·q, and the work.

    z is w + σ·u, changed as α changes.
    """
    size = held.q.shape[1]
    own, step = np.empty(size), np.empty(size)
    gain, linear, work = 0.0, 0.0, 0
    for j in range(rows.size):
        i, m = rows[j], held.count[rows[j]]
        for k in range(m):
            first, stop = starts[base[j] + k], starts[base[j] + k + 1]
            total = 0.0
            for e in range(first, stop):
                total += value[e] * z[index[e]]
            own[k] = held.q[i, k] - total
            work += stop - first
        raised = raise_dual(held, i, own[:m], sigma, max_steps, tol, step[:m])
        if raised == 0.0:
            continue
        gain += raised
        for k in range(m):
            if step[k] == 0.0:
                continue
            linear += step[k] * held.q[i, k]
            first, stop = starts[base[j] + k], starts[base[j] + k + 1]
            for e in range(first, stop):
                z[index[e]] += sigma * step[k] * value[e]
            work += stop - first
    return gain, linear, work


@kernel
def gram_of_sparse(rows, slots, base, index, value, starts, held, dim):
    """Fill the rows and columns of the examples' Gram matrices that belong to these slots."""
    dense = np.zeros(dim)
    for j in range(rows.size):
        i, slot = rows[j], slots[j]
        first, stop = starts[base[j] + slot], starts[base[j] + slot + 1]
        for e in range(first, stop):
            dense[index[e]] += value[e]
        for k in range(held.count[i]):
            total = 0.0
            for e in range(starts[base[j] + k], starts[base[j] + k + 1]):
                total += value[e] * dense[index[e]]
            held.gram[i, slot, k] = held.gram[i, k, slot] = total
        for e in range(first, stop):
            dense[index[e]] = 0.0
