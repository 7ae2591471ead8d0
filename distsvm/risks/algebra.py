"""The driver's products and sums of long vectors, in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from distsvm.data.features import frozen
from distsvm.kernels.sparse_vectors import add_multiple, product
from distsvm.vectors import SparseVector, Vector

PIECE = 1 << 18


def products(vectors: Sequence[Vector], dense: np.ndarray) -> np.ndarray:
    """⟨vector, dense⟩ of each vector."""
    out, dense = np.zeros(len(vectors)), frozen(dense)
    for j, place, index, value in _pieces(vectors, dense.size):
        out[j] += value @ dense[place] if index is None else product(index, value, dense)
    return out


def combination(vectors: Sequence[Vector], coefficients: np.ndarray, dim: int) -> np.ndarray:
    """Σ coefficient·vector, dense."""
    out, factors = np.zeros(dim), coefficients.tolist()
    for j, place, index, value in _pieces(vectors, dim):
        if index is None:
            out[place] += factors[j] * value
        else:
            add_multiple(index, value, factors[j], out)
    return out


def _pieces(
    vectors: Sequence[Vector], dim: int
) -> Iterator[tuple[int, slice, np.ndarray | None, np.ndarray]]:
    """(number of the vector, piece, index, value): all vectors' entries piece by piece.

    The index is None where the vector is dense.
    """
    ends = np.append(np.arange(0, dim, PIECE), dim)
    parts: list[tuple[np.ndarray | None, np.ndarray, list[int]]] = []
    for v in vectors:
        if isinstance(v, SparseVector):
            places = np.searchsorted(v.index, ends[:-1].astype(v.index.dtype))
            parts.append((frozen(v.index), frozen(v.value), [*places.tolist(), v.index.size]))
        else:
            parts.append((None, v, ends.tolist()))
    for piece in range(ends.size - 1):
        place = slice(int(ends[piece]), int(ends[piece + 1]))
        for j, (index, value, edges) in enumerate(parts):
            own = slice(edges[piece], edges[piece + 1])
            yield j, place, None if index is None else index[own], value[own]
