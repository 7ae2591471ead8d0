"""What an estimator of classes has after fit, whichever it is: coefficients and decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distsvm.data import TableData
from distsvm.estimators.prediction import bound, pieces
from distsvm.estimators.training import TrainedEstimator
from distsvm.estimators.validation import checked_features
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.classes.task import ClassTask


class LinearClasses(TrainedEstimator):
    """An estimator whose model_ may be one of classes; then it has classes_, coef_, intercept_."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray

    def _keep_linear_form(self, classes: np.ndarray) -> None:
        """Set classes_, coef_ and intercept_; `classes` are the labels as fit was given them.

        coef_ and intercept_ are for features as they are given: any scaler is folded in.
        """
        task: ClassTask = self.model_.task  # type: ignore[assignment]
        V, bias = task.weights(self.model_.w)
        V, bias = task.per_class(V), task.per_class(bias)
        if bias.size == 2:
            V, bias = V[:, 1:] - V[:, :1], bias[1:] - bias[:1]
        # a task that was told its classes may have some that are not in the data
        self.classes_ = classes if classes.size == task.labels.size else task.labels
        self.coef_, self.intercept_ = np.ascontiguousarray(V.T), bias.copy()

    def _decision(self, X: Any) -> np.ndarray:
        return np.concatenate(list(self._decisions(X)))

    def _predicted_classes(self, X: Any) -> np.ndarray:
        """The class with the highest score, the first of them in a tie."""
        chosen = [
            (piece > 0).astype(np.intp) if piece.ndim == 1 else np.argmax(piece, axis=1)
            for piece in self._decisions(X)
        ]
        return self.classes_[np.concatenate(chosen)]

    def _decisions(self, X: Any) -> Iterator[np.ndarray]:
        """The decision function of a few rows at a time."""
        check_is_fitted(self)
        oracle = bound(self.model_.task, TableData(checked_features(self, X)))
        assert isinstance(oracle, ClassOracle)
        view = oracle.view(self.model_.w)
        for rows in pieces(oracle):
            scores = oracle.scores(view, rows)
            yield scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
