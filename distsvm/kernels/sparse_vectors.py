"""Sparse vectors, given as index and value, with dense pieces: place 0 of a piece is `start`."""

from __future__ import annotations

from distsvm.kernels.options import kernel


@kernel
def product(index, value, start, dense):
    """Σ value·dense[index − start]."""
    # Four sums side by side, so that none has to wait for the one before.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    e = 0
    while e + 4 <= index.size:
        s0 += value[e] * dense[index[e] - start]
        s1 += value[e + 1] * dense[index[e + 1] - start]
        s2 += value[e + 2] * dense[index[e + 2] - start]
        s3 += value[e + 3] * dense[index[e + 3] - start]
        e += 4
    while e < index.size:
        s0 += value[e] * dense[index[e] - start]
        e += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def add_multiple(index, value, factor, start, out):
    """out[index − start] += factor·value; no index comes twice."""
    for e in range(index.size):
        out[index[e] - start] += factor * value[e]


@kernel
def put(index, value, start, out):
    """out[index − start] = value."""
    for e in range(index.size):
        out[index[e] - start] = value[e]


@kernel
def put_zeros(index, start, out):
    """out[index − start] = 0."""
    for e in range(index.size):
        out[index[e] - start] = 0.0


@kernel
def take_over(index, start, change, own):
    """Move the change at these places over to `own`: ⟨own as it was, change⟩ and ‖change‖².

    What is moved is 0 afterwards, so that it counts once, whoever else has a place in common.
    """
    along, square = 0.0, 0.0
    for e in range(index.size):
        at = index[e] - start
        x = change[at]
        if x != 0.0:
            along += x * own[at]
            square += x * x
            own[at] += x
            change[at] = 0.0
    return along, square
