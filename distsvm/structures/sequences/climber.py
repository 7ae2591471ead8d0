"""The climber of sequences: w is long, and a block changes few of its features."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from distsvm.data.features import frozen
from distsvm.data.ragged import RaggedSlots
from distsvm.kernels.changed_rows import ChangedRows
from distsvm.kernels.climb import Held
from distsvm.oracles.climber import (
    MAX_STEPS,
    Climber,
    Live,
    Visits,
    change_of_rows,
    room_for_all_changes,
)
from distsvm.structures.sequences.kernels import climb_paths
from distsvm.structures.sequences.view import View, chain_view
from distsvm.vectors import Vector

if TYPE_CHECKING:
    from distsvm.structures.sequences.oracle import SequenceOracle


class SequenceClimber(Climber):
    """Keeps the changed features' weights beside w, and a copy of the chain's, which are few."""

    def __init__(self, oracle: SequenceOracle, w: np.ndarray, sigma: float) -> None:
        self._oracle, self._sigma = oracle, sigma
        self._V = frozen(oracle.task.parts(w).emissions)
        self._chain_w = w[self._V.size :]
        self._chain = np.array(self._chain_w)
        self._chain_sigma = sigma * oracle.sentences.chain_times

    @cached_property
    def _changed(self) -> ChangedRows:
        return self._oracle.changed_rows(self._V)  # takes time, and who joins others has no need

    def visit(self, held: Held, outputs: RaggedSlots, rows: np.ndarray, tol: float) -> Visits:
        oracle = self._oracle
        return Visits(*climb_paths.visit_paths(
            frozen(rows), oracle.sentences, held, frozen(outputs.first), outputs.values,
            oracle.slack, self._sigma, MAX_STEPS, tol, self._changed,
            oracle.chain_parts(self._chain),
        ))  # fmt: skip

    def view(self) -> View:
        share = 1.0 / self._sigma
        chain = self._chain_w + (self._chain - self._chain_w) / self._chain_sigma
        tables = chain_view(self._oracle.chain_parts(chain), self._oracle.forbidden)
        return View(self._V, tables, (self._changed, share))

    def change(self) -> Vector:
        chain = (self._chain - self._chain_w) / self._chain_sigma
        return change_of_rows(self._changed, 1.0 / self._sigma, chain, self._oracle.task.dim)

    def join(self, live: Live) -> None:
        V, times, chain = self._V, self._oracle.sentences.times, self._chain
        self._changed, self._chain = live.get(lambda: (room_for_all_changes(V, times), chain))
