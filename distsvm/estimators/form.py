"""How StructuralSVM takes the examples of a task, and what it has after fit, by structure."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from distsvm.data import PairData, TableData
from distsvm.estimators.prediction import bound, predicted
from distsvm.estimators.training import TrainedEstimator
from distsvm.estimators.validation import checked_weight, one_by_one


class EstimatorForm:
    """Inputs and outputs of any kind, one each; a structure may have another form.

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
        """Examples for fit."""
        return PairData(one_by_one(X), one_by_one(y), checked_weight(weight))

    def keep(self) -> None:
        """Set what the estimator has after fit beside that of all tasks."""

    def data(self, X: Any, y: Any = None) -> TableData | PairData:
        """Examples for prediction, or with outputs for scores."""
        return PairData(one_by_one(X), None if y is None else one_by_one(y))

    def predict(self, X: Any) -> Any:
        """The outputs of highest score."""
        model = self.estimator.model_
        return predicted(bound(model.task, self.data(X)), model.w)

    def decision(self, X: Any) -> np.ndarray:
        """The decision function, where there is one."""
        raise NotImplementedError(type(self).__name__)
