"""Basis rows from a sample of distinct rows: its first, centres of clusters, or greedy pivots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from distsvm.data.features import DenseRows, Rows
from distsvm.errors import DataError
from distsvm.kernel_functions.function import KernelFunction, dense, matrix
from distsvm.kernel_functions.sampling import Seen

K_MEANS_ROWS, GREEDY_ROWS = 20, 4
"""Rows of the sample for each row of the basis."""
K_MEANS_PASSES = 10
PIECE = 1024


def sample_size(choice: str, k: int) -> int:
    """Return the number of distinct rows that a choice of k needs."""
    return {"random": 1, "k-means": K_MEANS_ROWS, "greedy": GREEDY_ROWS}[choice] * k


class Basis(NamedTuple):
    """Basis rows, their numbers in the data, and their labels where these matter."""

    rows: Rows
    numbers: np.ndarray
    labels: np.ndarray | None


def chosen(function: KernelFunction, seen: Seen, choice: str, most: int) -> Basis:
    """Return at most this number of basis rows; fewer where fewer rows are distinct."""
    k = min(most, seen.rows.n_rows)
    if choice == "k-means":
        return _centres(seen, k)
    places = greedy(function, seen.rows, k) if choice == "greedy" else np.arange(k)
    numbers = seen.numbers[places]
    if function.needs_square and (numbers < 0).any():
        raise DataError("kernel='precomputed': the rows of files have no numbers")
    labels = None if seen.labels is None else seen.labels[places]
    return Basis(seen.rows.take(places), numbers, labels)


def _centres(seen: Seen, k: int) -> Basis:
    """Return centres of all rows; or of each label's rows, in the shares of the labels."""
    if seen.labels is None:
        return Basis(k_means(seen.rows, k), np.full(k, -1), None)
    own, counts = np.unique(seen.labels, return_counts=True)
    sizes = np.maximum(1, counts * k // counts.sum())
    parts = [
        k_means(seen.rows.take(np.flatnonzero(seen.labels == label)), int(size))
        for label, size in zip(own, sizes, strict=True)
    ]
    labels = np.repeat(own, [part.n_rows for part in parts])
    return Basis(parts[0].joined(parts[1:]), np.full(labels.size, -1), labels)


def k_means(rows: Rows, k: int) -> DenseRows:
    """Return the centres of k clusters of the rows, from the first k of them as first centres.

    Lloyd's method; a cluster that gets no row keeps its centre.
    """
    centres = dense(rows.rows(0, min(k, rows.n_rows)))
    values, nearest = matrix(rows, np.float64), np.full(rows.n_rows, -1)
    for _ in range(K_MEANS_PASSES):
        before, half_norms = nearest, 0.5 * np.einsum("ij,ij->i", centres, centres)
        nearest = np.empty(rows.n_rows, np.int64)
        for start in range(0, rows.n_rows, PIECE):
            piece = slice(start, min(start + PIECE, rows.n_rows))
            nearest[piece] = np.argmax(values[piece] @ centres.T - half_norms, axis=1)
        if np.array_equal(nearest, before):
            break
        ones = np.ones(rows.n_rows)
        members = sparse.csr_matrix((ones, (nearest, np.arange(rows.n_rows))),
                                    shape=(len(centres), rows.n_rows))  # fmt: skip
        sums, counts = members @ values, np.bincount(nearest, minlength=len(centres))
        sums = sums.toarray() if sparse.issparse(sums) else sums
        some = counts > 0
        centres[some] = sums[some] / counts[some, None]
    return DenseRows(centres)


def greedy(function: KernelFunction, rows: Rows, k: int, least: float = 1e-12) -> np.ndarray:
    """Return the places of at most k rows: each has the largest residual left by those before.

    This is Cholesky's method with pivots. It ends early where the residual is below `least` times
    the largest K(x, x).
    """
    residual = function.diagonal(rows).astype(np.float64)
    limit = least * float(residual.max(initial=0.0))
    columns, chosen = np.empty((min(k, rows.n_rows), rows.n_rows)), []
    for step in range(len(columns)):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= limit:
            break
        column = function.block(rows, rows.take(np.array([pivot])))[:, 0]
        column = column - columns[:step, pivot] @ columns[:step]
        columns[step] = column / np.sqrt(residual[pivot])
        residual -= columns[step] ** 2
        residual[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, np.int64)
