"""Factors of the Gram matrix of a basis: the features of a row are its kernel values times one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FIRST_JITTER = 1e-14
"""In parts of the mean of the diagonal; each further trial takes 10 times as much."""
MOST_JITTER = 1e-4


class Factor(NamedTuple):
    """P with PᵀKP = 1, so that φ(x) = Pᵀ·k(x, basis), and what was left out or added for it.

    Parameters
    ----------
    projection : float64 array of shape (k, rank)
    smallest, largest : float
        Eigenvalues that were kept; of Cholesky's factor, the squares of its diagonal.
    jitter : float
        What was added to the diagonal of K.
    """

    projection: np.ndarray
    smallest: float
    largest: float
    jitter: float


def eigenvalue_factor(eigenvalues: np.ndarray, vectors: np.ndarray, cutoff: float) -> Factor:
    """Return U·S^(−½) of the eigenvalues above `cutoff` times the largest, largest first."""
    order = np.argsort(eigenvalues)[::-1]
    kept = order[eigenvalues[order] > cutoff * eigenvalues[order[0]]]
    values = eigenvalues[kept]
    return Factor(vectors[:, kept] / np.sqrt(values), float(values[-1]), float(values[0]), 0.0)


def cholesky_factor(gram: np.ndarray) -> Factor:
    """Return L⁻ᵀ with LLᵀ = K + jitter, the least jitter of the trials with which there is an L."""
    scale, jitter = float(np.mean(np.diag(gram))), 0.0
    while True:
        try:
            lower = np.linalg.cholesky(gram + jitter * scale * np.eye(len(gram)))
            break
        except np.linalg.LinAlgError:
            jitter = 10 * jitter or FIRST_JITTER
            if jitter > MOST_JITTER:
                raise
    pivots = np.diag(lower) ** 2
    inverse = np.tril(np.linalg.inv(lower))
    return Factor(inverse.T, float(pivots.min()), float(pivots.max()), jitter * scale)


def eigen(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and vectors of the symmetric part; each largest entry is above 0."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(largest.size)])
    return values, vectors * np.where(signs == 0, 1.0, signs)


def factor_of_groups(
    gram: np.ndarray,
    pair: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray | None,
    cutoff: float | None,
) -> tuple[Factor, np.ndarray | None]:
    """Return one factor whose features are of rows of one label each, and their labels.

    Without labels all rows are one group, and `pair` are its eigenvalues and vectors. Without a
    cutoff factors are Cholesky's.
    """
    if labels is None:
        return _factor(gram, pair, cutoff), None
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    parts = []
    for rows in groups:
        own = gram[np.ix_(rows, rows)]
        parts.append(_factor(own, eigen(own) if cutoff is not None else None, cutoff))
    sizes = [part.projection.shape[1] for part in parts]
    projection = np.zeros((len(gram), sum(sizes)))
    for rows, part, end in zip(groups, parts, np.cumsum(sizes), strict=True):
        projection[rows, end - part.projection.shape[1] : end] = part.projection
    factor = Factor(
        projection, min(part.smallest for part in parts), max(part.largest for part in parts),
        max(part.jitter for part in parts),
    )  # fmt: skip
    return factor, np.repeat(np.unique(labels), sizes)


def _factor(
    gram: np.ndarray, pair: tuple[np.ndarray, np.ndarray] | None, cutoff: float | None
) -> Factor:
    if cutoff is None or pair is None:
        return cholesky_factor(gram)
    return eigenvalue_factor(*pair, cutoff)
