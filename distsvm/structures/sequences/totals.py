"""Sums of the planes of sequences, which touch few of many features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from distsvm.data.features import frozen
from distsvm.messages import Planes
from distsvm.oracles.totals import SPARSE_GAIN, Total
from distsvm.structures.sequences.kernels import (
    step_features,
    viterbi_planes,
    viterbi_tokens,
)
from distsvm.vectors import SparseVector, Vector, index_type, is_small, to_dense

if TYPE_CHECKING:
    from distsvm.structures.sequences.oracle import SequenceOracle


class SequenceTotal(Total):
    """Keeps L sums for each feature that was touched so far, and the chain's part whole."""

    def __init__(self, oracle: SequenceOracle) -> None:
        self.task, self._slack = oracle.task, oracle.slack
        n_labels = self.task.tags().size
        self._place = np.zeros(self.task.n_features, np.int32)
        self._claimed, self._sums = np.zeros(1, np.int32), np.zeros((1, n_labels))
        self._n_places = 1
        self._chain = np.zeros(self.task.dim - self.task.n_features * n_labels)
        self.move(oracle)

    def move(self, oracle: SequenceOracle) -> None:  # type: ignore[override]
        self._tokens, self._truth = oracle.sparse(), (oracle.starts, oracle.all_truth().values)
        self._steps = None if oracle.step_tokens is None else oracle.step_tokens.arrays()
        # Most of these zeros are never written to, and then take no memory.
        most = min(1 + self.task.n_features, self._n_places + self._tokens[1].size)
        if most > self._claimed.size:
            claimed, sums = np.zeros(most, np.int32), np.zeros((most, self._sums.shape[1]))
            claimed[: self._n_places] = self._claimed[: self._n_places]
            sums[: self._n_places] = self._sums[: self._n_places]
            self._claimed, self._sums = claimed, sums

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        values, columns, entries = self._tokens
        paths = (
            *self._truth, frozen(planes.row), frozen(planes.output.starts),
            frozen(planes.output.values),
        )  # fmt: skip
        self._n_places = viterbi_tokens.claim_places(
            columns, entries, *paths, self._place, self._n_places, self._claimed
        )
        coefficients = frozen(weights * planes.q if self._slack else weights)
        viterbi_tokens.token_sums(
            values, columns, entries, *paths, coefficients, self._place, self._sums
        )
        self._add_chain(*paths, frozen(self.task.transition_scale * coefficients))

    def _add_chain(self, *given: np.ndarray) -> None:
        parts = replace(self.task, n_features=0).parts(self._chain)
        n = parts.start.size
        if self._steps is not None:
            sums = parts.steps.reshape(-1, n * n)
            step_features.step_sums(*self._steps, *given, n, sums)
        if self.task.order == 1:
            table = parts.transitions[None]
            viterbi_planes.chain_sums(*given, table, table, parts.start, parts.end)
            return
        table, opening = np.zeros((n, n, n)), np.zeros((n, n, n))
        viterbi_planes.chain_sums(*given, table, opening, parts.start, parts.end)
        parts.triples[:] += table.transpose(1, 0, 2)
        parts.pairs[:] += opening[:, 0, :]
        parts.transitions[:] += table.sum(axis=1) + opening[:, 0, :]

    def vector(self) -> Vector:
        dim = self.task.dim
        order = 1 + np.argsort(self._claimed[1 : self._n_places])
        room = order.size * self._sums.shape[1]
        index, value = np.empty(room, index_type(dim)), np.empty(room)
        n = viterbi_tokens.filled_entries(self._sums, self._claimed, order, index, value)
        last = np.flatnonzero(self._chain)
        first = dim - self._chain.size
        total = SparseVector(
            np.concatenate([index[:n], (first + last).astype(index.dtype)]),
            np.concatenate([value[:n], self._chain[last]]),
            dim,
        )
        return total if is_small(total.index.size, dim, SPARSE_GAIN) else to_dense(total)
