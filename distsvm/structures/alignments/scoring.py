"""What w means to the search: scores of pairs and of gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.data.features import frozen


class Scoring(NamedTuple):
    """Scores as kernels take them.

    Parameters
    ----------
    S : array of shape (width²,), float32 or float64
        S[a, b] of a letter of the native sequence and one of another, with a letter more, the last,
        that stands before sequences and scores 0.
    width : int
    open_, extend : numbers of the type of S
        Of the first letter of a run of letters alone, and of each that follows.
    floor : 0 for local alignment, −∞ for global
    """

    S: np.ndarray
    width: int
    open_: float
    extend: float
    floor: float

    @classmethod
    def of(cls, matrix: np.ndarray, open_: float, extend: float, local: bool) -> Scoring:
        """Return the scoring of a square matrix and two scores of gaps."""
        k = len(matrix)
        S = np.zeros((k + 1, k + 1), matrix.dtype)
        S[:k, :k] = matrix
        number = matrix.dtype.type
        floor = number(0.0 if local else -np.inf)
        return cls(frozen(S.ravel()), k + 1, number(open_), number(extend), floor)
