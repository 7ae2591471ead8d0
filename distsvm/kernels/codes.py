"""Codes Λ(y) of classes as sparse rows, and differences of two of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel


class Codes(NamedTuple):
    """Λ(y) of each class: entries starts[y] … starts[y + 1] − 1, by increasing column."""

    values: np.ndarray  # float64
    columns: np.ndarray  # int32
    starts: np.ndarray  # int64 (k + 1,)


def codes_of(table: np.ndarray) -> Codes:
    """Return a table of shape (k, r) as sparse rows."""
    row, column = np.nonzero(table)
    starts = np.searchsorted(row, np.arange(len(table) + 1))
    return Codes(table[row, column], column.astype(np.int32), starts.astype(np.int64))


@kernel
def difference(codes, a, b, columns, values):
    """Write the entries of Λ(a) − Λ(b) that are not 0, by increasing column; how many there are.

    Nodes of a taxonomy that are above both classes cancel.
    """
    e, last = codes.starts[a], codes.starts[a + 1]
    f, end = codes.starts[b], codes.starts[b + 1]
    n = 0
    while e < last or f < end:
        if f == end or (e < last and codes.columns[e] < codes.columns[f]):
            columns[n], values[n] = codes.columns[e], codes.values[e]
            e += 1
        elif e == last or codes.columns[f] < codes.columns[e]:
            columns[n], values[n] = codes.columns[f], -codes.values[f]
            f += 1
        else:
            columns[n], values[n] = codes.columns[e], codes.values[e] - codes.values[f]
            e += 1
            f += 1
        if values[n] != 0.0:
            n += 1
    return n


@kernel
def widest(codes):
    """Room for the entries of any difference."""
    most = 0
    for y in range(codes.starts.size - 1):
        most = max(most, codes.starts[y + 1] - codes.starts[y])
    return 2 * most + 1


@kernel
def class_scores(products, codes, out):
    """out[i, y] = ⟨products[i], Λ(y)⟩: for a taxonomy, the sum of the nodes' scores on the way."""
    for i in range(products.shape[0]):
        own, row = products[i], out[i]
        for y in range(row.size):
            total = 0.0
            for e in range(codes.starts[y], codes.starts[y + 1]):
                total += codes.values[e] * own[codes.columns[e]]
            row[y] = total
