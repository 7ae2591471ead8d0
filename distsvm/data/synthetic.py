"""Seeded data for tests, examples and benchmarks: equal arguments give equal data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from distsvm.data.writers import write_parts
from distsvm.kinds import number
from distsvm.options import Option
from distsvm.oracles.structure import imported
from distsvm.wording import Message

__all__ = [
    "make_binary",
    "make_checkers",
    "make_multiclass",
    "make_sparse_multiclass",
    "write_parts",
]

ROWS_AT_A_TIME = 1 << 16


def make_binary(
    n: int, d: int, *, noise: float = 0.05, seed: int = 0, dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows with labels −1, +1 by the side of a random plane; a share `noise` is flipped.

    Returns
    -------
    X : array of shape (n, d)
    y : int64 array of shape (n,)
    """
    rng = np.random.default_rng(seed)
    X = _normal(rng, n, d, dtype)
    y = np.where(X @ rng.standard_normal(d).astype(X.dtype) >= 0, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def make_checkers(
    n: int,
    *,
    side: int = 4,
    noise: float = 0.02,
    flipped: float = 0.0,
    seed: int = 0,
    dtype: Any = np.float64,
) -> tuple[np.ndarray, np.ndarray]:
    """Points on a board of side × side squares with the label of their square's colour.

    Points are uniform on the board [0, 1]²; then each is moved by normal noise, and a share
    `flipped` of labels changes. With 4 squares a side and noise 0.02 it is the Checkers problem of
    Yu and Joachims (2008).

    Parameters
    ----------
    n : int
    side : int ≥ 1
    noise : float ≥ 0
        The standard deviation, in widths of the board.
    flipped : float from 0 to 1

    Returns
    -------
    X : array of shape (n, 2)
    y : int64 array of shape (n,), −1 or +1
    """
    for name, value, least, most in (
        ("side", side, 1, None), ("noise", noise, 0, None), ("flipped", flipped, 0, 1),
    ):  # fmt: skip
        Option(number(least=least, most=most), Message(""), name=name).check(value)
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    squares = np.minimum((X * side).astype(np.int64), side - 1)
    y = np.where(squares.sum(axis=1) % 2, -1, 1)
    X += noise * rng.standard_normal((n, 2))
    return X.astype(dtype), np.where(rng.random(n) < flipped, -y, y)


def make_multiclass(
    n: int,
    d: int,
    n_classes: int,
    *,
    noise: float = 0.05,
    seed: int = 0,
    dtype: Any = np.float64,
) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows with the label of the best of n_classes random directions.

    A share `noise` of labels is drawn anew.

    Returns
    -------
    X : array of shape (n, d)
    y : int64 array of shape (n,), in 0 … n_classes − 1
    """
    rng = np.random.default_rng(seed)
    X = _normal(rng, n, d, dtype)
    directions = rng.standard_normal((d, n_classes)).astype(X.dtype)
    y = np.empty(n, dtype=np.int64)
    for start in range(0, n, ROWS_AT_A_TIME):
        run = slice(start, start + ROWS_AT_A_TIME)
        y[run] = np.argmax(X[run] @ directions, axis=1)
    return X, np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), y)


def make_sparse_multiclass(
    n: int,
    d: int,
    n_classes: int,
    *,
    n_nonzero: int = 50,
    noise: float = 0.05,
    seed: int = 0,
    dtype: Any = np.float64,
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows like texts: few frequent columns, many rare ones, and frequent ones for each class.

    A row has n_nonzero words drawn by Zipf's law, every third of them from its class, values
    1 + log(count), and norm 1. A share `noise` of labels is drawn anew.

    Returns
    -------
    X : CSR matrix of shape (n, d) with at most n_nonzero entries a row
    y : int64 array of shape (n,), in 0 … n_classes − 1
    """
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_classes, size=n)
    frequency = np.cumsum(1.0 / np.arange(1, d + 1))
    # A class has all words, but other frequent ones: its ranks begin at another word.
    first = rng.integers(d, size=n_classes)
    columns = np.empty((n, n_nonzero), dtype=np.int32)
    for start in range(0, n, ROWS_AT_A_TIME):
        run = slice(start, start + ROWS_AT_A_TIME)
        drawn = rng.random(columns[run].shape) * frequency[-1]
        rank = np.minimum(np.searchsorted(frequency, drawn), d - 1)
        rank[:, ::3] += first[topic[run], None]
        columns[run] = rank % d
    starts = np.arange(0, n * n_nonzero + 1, n_nonzero)
    X = sparse.csr_matrix((np.ones(n * n_nonzero), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data = (X.data / np.repeat(norms, np.diff(X.indptr))).astype(dtype)
    return X, np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), topic)


def _normal(rng: np.random.Generator, n: int, d: int, dtype: Any) -> np.ndarray:
    kind = np.float32 if np.dtype(dtype) == np.float32 else np.float64
    return rng.standard_normal((n, d), dtype=kind).astype(dtype, copy=False)


def __getattr__(name: str) -> Any:
    """Return the makers of random data that structures have."""
    homes = {
        "make_alignments": "alignments.synthetic", "make_chains": "sequences.synthetic",
        "make_tagged_sentences": "sequences.synthetic",
        "make_taxonomy_data": "classes.taxonomies.synthetic",
        "write_conll": "sequences.writers", "write_fasta": "alignments.readers.fasta",
    }  # fmt: skip
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(imported(f"distsvm.structures.{homes[name]}"), name)
