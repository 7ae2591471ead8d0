"""RingLabeller: rings for scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.estimators.compiled import REQUIRED, CompiledEstimator, weighted_share
from distsvm.options import usual
from distsvm.workers.shard_worker import ShardWorker
from distsvm_example.rings.task import RingTask


@dataclass(kw_only=True, eq=False, repr=False)
class RingLabeller(CompiledEstimator):
    """Labels the sites of rings; X is a list of arrays and y a list of labels, or X names files."""

    task_class = RingTask

    loss_scale: float = usual(RingTask, "loss_scale")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of sites whose label is right; sites have the weights of their rings."""
        parts = self._over(X, REQUIRED if y is None else y, _sites_right)
        right, lengths = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return weighted_share(right, lengths, sample_weight)


def _sites_right(worker: ShardWorker, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many labels of each ring are right, and how many it has."""
    oracle: Any = worker.oracle
    rows = np.arange(oracle.n)
    loss = oracle.losses(rows, oracle.decode(oracle.view(w), rows))
    return oracle.lengths * (1.0 - loss / oracle.task.loss_scale), oracle.lengths
