"""Δ of all pairs of classes: one number, a matrix, or the heights of a taxonomy's nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel


class Losses(NamedTuple):
    """Δ(y, ŷ) = zero_one·[y ≠ ŷ] where that is above 0; else matrix[y, ŷ] where there is one.

    Else the height of the lowest node above both, without a table of all pairs: `order` has
    the classes by their nodes, those at or below node z from place first[z] to stop[z] − 1.
    """

    zero_one: float
    matrix: np.ndarray  # (k, k) or (0, 0)
    node: np.ndarray  # int32 (k,): of each class; (0,) where the others say it
    order: np.ndarray  # int32 (k,)
    first: np.ndarray  # int32 (n_nodes,)
    stop: np.ndarray  # int32 (n_nodes,)
    above: np.ndarray  # int32 (n_nodes,): −1 for the root
    height: np.ndarray  # (n_nodes,)


@kernel
def losses_of(losses, y, out):
    """Write Δ(y, ŷ) of all classes ŷ."""
    if losses.zero_one > 0.0:
        out[:] = losses.zero_one
    elif losses.matrix.size > 0:
        for c in range(out.size):  # not an array's slice, which takes 1.5 s to compile
            out[c] = losses.matrix[y, c]
    else:
        z = losses.node[y]
        low = high = losses.first[z]
        while z >= 0:  # each class once: at the lowest node that is above it and y
            for place in range(losses.first[z], low):
                out[losses.order[place]] = losses.height[z]
            for place in range(high, losses.stop[z]):
                out[losses.order[place]] = losses.height[z]
            low, high = losses.first[z], losses.stop[z]
            z = losses.above[z]
    out[y] = 0.0


@kernel
def lowest_above(above, a, b):
    """The lowest node at or above both a and b; numbers of nodes grow on every way down."""
    while a != b:
        if a > b:
            a = above[a]
        else:
            b = above[b]
    return a


@kernel
def losses_of_pairs(losses, truth, outputs, out):
    """out[i] = Δ(truth[i], outputs[i])."""
    for i in range(truth.size):
        y, c = truth[i], outputs[i]
        if y == c:
            out[i] = 0.0
        elif losses.zero_one > 0.0:
            out[i] = losses.zero_one
        elif losses.matrix.size > 0:
            out[i] = losses.matrix[y, c]
        else:
            z = lowest_above(losses.above, losses.node[y], losses.node[c])
            out[i] = losses.height[z]


@kernel
def common_nodes(above, a, b, out):
    """out[i]: the lowest node at or above both a[i] and b[i]."""
    for i in range(a.size):
        out[i] = lowest_above(above, a[i], b[i])
