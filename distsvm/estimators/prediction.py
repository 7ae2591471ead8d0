"""Predictions in this process, piece by piece: no executor, and no array of all scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from distsvm.data import PairData, TableData
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.task import Task


def bound(task: Task, data: TableData | PairData) -> Oracle:
    """The oracle of all the data, as one shard."""
    return task.oracle(data.specs(1)[0].load(), "margin")


def pieces(oracle: Oracle) -> Iterator[np.ndarray]:
    """The numbers of the examples, as many at a time as the oracle likes."""
    for start in range(0, oracle.n, oracle.piece):
        yield np.arange(start, min(start + oracle.piece, oracle.n))


def predicted(oracle: Oracle, w: np.ndarray) -> Any:
    """argmax_ŷ ⟨w, Ψ(x, ŷ)⟩ of every example: an array of labels for classes, else a list."""
    view = oracle.view(w)
    parts = [oracle.public(oracle.decode(view, rows)) for rows in pieces(oracle)]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [output for part in parts for output in part]


def losses(oracle: Oracle, w: np.ndarray) -> np.ndarray:
    """Δ(y, ŷ) of every example's prediction."""
    view = oracle.view(w)
    return np.concatenate(
        [oracle.losses(rows, oracle.decode(view, rows)) for rows in pieces(oracle)]
    )
