"""The form of examples that StructuralSVM takes, and its attributes after fit, by structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from distsvm.data import PairData, TableData
from distsvm.estimators.training import TrainedEstimator
from distsvm.estimators.validation import checked_weight, one_by_one
from distsvm.oracles.oracle import Oracle


class EstimatorForm:
    """Inputs and outputs of any kind, one each; a structure may have another form.

    Predictions are made in this process, a piece of the examples at a time.

    Attributes
    ----------
    sparse : bool
        Whether X may be a sparse matrix.
    decides : bool
        Whether there is a decision function.
    """

    sparse: ClassVar[bool] = False
    decides: ClassVar[bool] = False

    def __init__(self, estimator: TrainedEstimator) -> None:
        self.estimator = estimator

    def training_data(self, X: Any, y: Any, weight: Any) -> TableData | PairData:
        """Return examples for fit."""
        return PairData(one_by_one(X), one_by_one(y), checked_weight(weight))

    def keep(self) -> None:
        """Set the attributes after fit that other structures do not have."""

    def data(self, X: Any, y: Any = None) -> TableData | PairData:
        """Return examples for prediction, or with outputs for scores."""
        return PairData(one_by_one(X), None if y is None else one_by_one(y))

    def oracle(self, X: Any, y: Any = None) -> Oracle:
        """Return the oracle of all these examples, as one shard."""
        return self.estimator.model_.task.oracle(self.data(X, y).specs(1)[0].load(), "margin")

    def predict(self, X: Any) -> Any:
        """Return argmax_ŷ ⟨w, Ψ(x, ŷ)⟩ of every example: an array of labels, else a list."""
        oracle = self.oracle(X)
        view = oracle.view(self.estimator.model_.w)
        parts = [oracle.public(oracle.decode(view, rows)) for rows in all_chunks(oracle)]
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return [output for part in parts for output in part]

    def decision(self, X: Any) -> np.ndarray:
        """Return the decision function, where there is one."""
        raise NotImplementedError(type(self).__name__)


def all_chunks(oracle: Oracle) -> Iterator[np.ndarray]:
    """Yield the numbers of all examples, a piece at a time."""
    return oracle.chunks(np.arange(oracle.n))
