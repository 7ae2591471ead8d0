"""The oracle of classes whose mapped features are one class's each: bases are pairs (x′, y′)."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.data.ragged import offsets
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.messages import Planes
from distsvm.oracles.algebra import PlaneAlgebra
from distsvm.oracles.climber import Flat
from distsvm.structures.classes.climber import ClassView
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.classes.task import MulticlassTask


class PairOracle(ClassOracle):
    """Ψ(x, y) has the features of class y's own basis inputs, and zeros in all other places.

    w keeps the shape of other tasks of classes: the weights of a class for the features of another
    are 0, and stay 0.
    """

    def __init__(self, task: MulticlassTask, shard: Shard, rescaling: str) -> None:
        self.own = own_features(task)
        super().__init__(task, shard, rescaling)

    def view(self, w: np.ndarray) -> ClassView:
        return super().view(np.where(self.own.ravel(), w, 0.0))

    def features(self, rows: np.ndarray, outputs: Any) -> Flat:
        index, value, starts = super().features(rows, outputs)
        kept = self.own.ravel()[index]
        return index[kept], value[kept], offsets(kept)[starts]

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        total = np.zeros(out.size)
        super().accumulate(planes, weights, total)
        out += np.where(self.own.ravel(), total, 0.0)

    def norms(self) -> tuple[np.ndarray, float | None]:
        return PlaneAlgebra.norms(self)


def own_features(task: MulticlassTask) -> np.ndarray:
    """Return whether each class has each feature, shape (n_features + 1, k); all have the last."""
    assert task.features is not None
    labels = task.features.labels
    assert labels is not None
    own = np.zeros((task.n_features + 1, task.labels.size), bool)
    places, unseen = task.encode(labels)
    if unseen.size:
        raise DataError(task.why_unseen(unseen.tolist()[0]))
    own[np.arange(labels.size), places] = True
    own[-1] = True
    return own
