"""The driver's products and sums of long vectors, in pieces that stay in the processor's cache.

Pieces are shared out to all cores, which have nothing else to do while the driver is at work; what
is added to what does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from distsvm.data.features import frozen
from distsvm.executors.base import usable_cores
from distsvm.kernels.sparse_vectors import add_multiple, product, put, put_zeros
from distsvm.vectors import SparseVector, Vector

PIECE = 1 << 19


def products(vectors: Sequence[Vector], other: Vector) -> np.ndarray:
    """⟨vector, other⟩ of each vector."""
    ends = _ends(other.size)
    cut, parts = _Cut(other, ends), [_Cut(v, ends) for v in vectors]
    sums = np.zeros((ends.size - 1, len(vectors)))

    def work(pieces: range) -> None:
        room = np.zeros(min(PIECE, other.size))
        for piece in pieces:
            # The other vector's piece, dense, is in the cache while all vectors go past it.
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
    """Σ coefficient·vector, dense."""
    ends = _ends(dim)
    parts = [_Cut(v, ends) for v in vectors]
    out, factors = np.empty(dim), coefficients.tolist()

    def work(pieces: range) -> None:
        for piece in pieces:
            start = int(ends[piece])
            total = out[start : ends[piece + 1]]
            total[:] = 0.0
            for factor, vector in zip(factors, parts, strict=True):
                part = vector.part(piece)
                if part.at is None:
                    total += factor * part.value
                else:
                    add_multiple(part.at, part.value, factor, start, total)

    _share_out(work, ends.size - 1)
    return out


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
