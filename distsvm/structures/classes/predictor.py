"""Classes of rows in memory: weights in the kernels' form, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm.data.features import DenseRows, SparseRows, as_rows
from distsvm.data.shard import Shard
from distsvm.oracles.predictor import Predictor
from distsvm.structures.classes.oracle import ClassOracle

if TYPE_CHECKING:
    from distsvm.structures.classes.task import ClassTask

MOST_VALUES = 1 << 18
"""Of a table that is predicted at once in this thread; larger ones are worth several."""


class ClassPredictor(Predictor):
    """Predicts rows of a table in memory."""

    frame: ClassOracle

    def __init__(self, task: ClassTask, w: np.ndarray) -> None:
        none = SparseRows(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int32), task.n_columns)
        super().__init__(task.oracle(Shard(none, None, None), "margin"), w)

    def bound(self, inputs: Any) -> ClassOracle | None:
        if not isinstance(inputs, np.ndarray) or inputs.ndim != 2 or inputs.size > MOST_VALUES:
            return None
        if inputs.dtype.kind not in "fiub" or not np.isfinite(inputs).all():
            return None
        return self.over(as_rows(inputs))

    def over(self, rows: DenseRows | SparseRows) -> ClassOracle | None:
        """Return an oracle of rows whose values are finite."""
        base = 0 if isinstance(rows, DenseRows) or rows.zero_based else None
        task = self.frame.task
        if base is None or rows.n_columns != task.n_columns or not rows.n_rows:
            return None
        return self.frame.beside(task.mapped(rows))
