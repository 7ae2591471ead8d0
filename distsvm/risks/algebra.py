"""The driver's products and sums of long vectors, in pieces that stay in the processor's cache.

All cores share the pieces, as they are idle while the driver works. The order of additions does not
depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from distsvm.data.features import frozen
from distsvm.executors.base import usable_cores
from distsvm.kernels.sparse_vectors import add_multiple, product, put, put_zeros, take_over
from distsvm.vectors import SparseVector, Vector

PIECE = 1 << 19
FEW = 3


def products(vectors: Sequence[Vector], other: Vector) -> np.ndarray:
    """Return ⟨vector, other⟩ of each vector."""
    ends = _ends(other.size)
    cut, parts = _Cut(other, ends), [_Cut(v, ends) for v in vectors]
    sums = np.zeros((ends.size - 1, len(vectors)))

    def work(pieces: range) -> None:
        room = np.zeros(min(PIECE, other.size))
        for piece in pieces:
            # The dense piece of the other vector stays in the cache for all vectors.
            start, own = int(ends[piece]), cut.part(piece)
            dense = own.value if own.at is None else room[: ends[piece + 1] - start]
            if own.at is not None:
                put(own.at, own.value, start, dense)
            for j, vector in enumerate(parts):
                part = vector.part(piece)
                if part.at is None:
                    sums[piece, j] = part.value @ dense
                else:
                    sums[piece, j] = product(part.at, part.value, start, frozen(dense))
            if own.at is not None:
                put_zeros(own.at, start, dense)

    _share_out(work, ends.size - 1)
    return sums.sum(axis=0)


def combination(vectors: Sequence[Vector], coefficients: np.ndarray, dim: int) -> np.ndarray:
    """Return Σ coefficient·vector, dense."""
    ends = _ends(dim)
    terms = _terms(vectors, coefficients, ends)
    out = np.zeros(dim)

    def work(pieces: range) -> None:
        for piece in pieces:
            _add_piece(terms, piece, int(ends[piece]), out[ends[piece] : ends[piece + 1]])

    _share_out(work, ends.size - 1)
    return out


def advance(
    w: np.ndarray, vectors: Sequence[Vector], coefficients: np.ndarray
) -> tuple[float, float]:
    """Add change = Σ coefficient·vector to w in place.

    Returns
    -------
    ⟨w, change⟩ with w as it was, and ‖change‖²
    """
    ends = _ends(w.size)
    terms = _terms(vectors, coefficients, ends)
    sums = np.zeros((ends.size - 1, 2))
    # Single entries all over memory cost a few times as much as all entries in a row.
    n_places = sum(v.index.size if isinstance(v, SparseVector) else w.size for v in vectors)
    few = FEW * n_places < w.size

    def work(pieces: range) -> None:
        room = np.zeros(min(PIECE, w.size))
        for piece in pieces:
            start, own = int(ends[piece]), w[ends[piece] : ends[piece + 1]]
            change = room[: own.size]
            if few:
                _add_piece(terms, piece, start, change)
                for _, vector in terms:
                    places = vector.part(piece).at
                    sums[piece] += take_over(places, start, change, own)
            else:
                change[:] = 0.0
                _add_piece(terms, piece, start, change)
                sums[piece] = change @ own, change @ change
                own += change

    _share_out(work, ends.size - 1)
    along, square = sums.sum(axis=0).tolist()
    return along, square


Terms: TypeAlias = "list[tuple[float, _Cut]]"


def _terms(vectors: Sequence[Vector], coefficients: np.ndarray, ends: np.ndarray) -> Terms:
    cuts = [_Cut(v, ends) for v in vectors]
    return list(zip(coefficients.tolist(), cuts, strict=True))


def _add_piece(terms: Terms, piece: int, start: int, out: np.ndarray) -> None:
    """Add the terms in one piece, which begins at entry `start`, to out."""
    for factor, vector in terms:
        part = vector.part(piece)
        if part.at is None:
            out += factor * part.value
        else:
            add_multiple(part.at, part.value, factor, start, out)


class Part(NamedTuple):
    """A vector's entries in one piece; `at` is None where the vector is dense."""

    at: np.ndarray | None
    value: np.ndarray


class _Cut:
    """A vector cut into pieces."""

    def __init__(self, v: Vector, ends: np.ndarray) -> None:
        self._at: np.ndarray | None = None
        if isinstance(v, SparseVector):
            self._at, self._value = frozen(v.index), frozen(v.value)
            self._edges = np.searchsorted(v.index, ends.astype(v.index.dtype))
        else:
            self._value, self._edges = v, ends

    def part(self, piece: int) -> Part:
        own = slice(self._edges[piece], self._edges[piece + 1])
        return Part(None if self._at is None else self._at[own], self._value[own])


def _ends(dim: int) -> np.ndarray:
    return np.append(np.arange(0, dim, PIECE), dim)


def _share_out(work: Callable[[range], None], n_pieces: int) -> None:
    n_threads = min(n_pieces, usable_cores())
    if n_threads < 2:
        work(range(n_pieces))
        return
    edges = [n_pieces * i // n_threads for i in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        runs = [range(low, high) for low, high in pairwise(edges)]
        for done in [pool.submit(work, run) for run in runs]:
            done.result()
