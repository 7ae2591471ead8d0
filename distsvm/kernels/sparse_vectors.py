"""Products and sums of sparse vectors, given as index and value, with dense ones."""

from __future__ import annotations

from distsvm.kernels.options import kernel


@kernel
def product(index, value, dense):
    """Σ value·dense[index]."""
    # Four sums side by side, so that none has to wait for the one before.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    e = 0
    while e + 4 <= index.size:
        s0 += value[e] * dense[index[e]]
        s1 += value[e + 1] * dense[index[e + 1]]
        s2 += value[e + 2] * dense[index[e + 2]]
        s3 += value[e + 3] * dense[index[e + 3]]
        e += 4
    while e < index.size:
        s0 += value[e] * dense[index[e]]
        e += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def add_multiple(index, value, factor, out):
    """out[index] += factor·value; no index comes twice."""
    for e in range(index.size):
        out[index[e]] += factor * value[e]
