"""Basis rows from a sample of distinct rows: its first, centres of clusters, or greedy pivots."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from distsvm.data.features import DenseRows, Rows
from distsvm.kernel_functions.function import KernelFunction, dense, matrix

K_MEANS_ROWS, GREEDY_ROWS = 20, 4
"""Rows of the sample for each row of the basis."""
K_MEANS_PASSES = 10
PIECE = 1024


def sample_size(choice: str, k: int) -> int:
    """Return the number of distinct rows that a choice of k needs."""
    return {"random": 1, "k-means": K_MEANS_ROWS, "greedy": GREEDY_ROWS}[choice] * k


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
