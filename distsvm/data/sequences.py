"""Sequences of tokens with sparse features, as a shard holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsvm.data.features import SparseRows
from distsvm.data.ragged import Ragged


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The inputs of n sequences: sequence i has the tokens starts[i] … starts[i + 1] − 1.

    Parameters
    ----------
    tokens : SparseRows
        One row of features a token.
    starts : int64 array of shape (n + 1,)
    names : array of str, or None
        The names of the columns, in the shard's own numbering: who reads a shard cannot know the
        numbers that others give. None where the columns are numbers that mean the same everywhere
        (hashed features, SVM-HMM files).
    """

    tokens: SparseRows
    starts: np.ndarray
    names: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return self.starts.size - 1

    @property
    def nbytes(self) -> int:
        return self.tokens.nbytes + self.starts.nbytes


@dataclass(frozen=True, eq=False)
class TagRows:
    """The tags of n sequences, numbered in the shard's own order of `names`."""

    codes: Ragged
    names: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)
