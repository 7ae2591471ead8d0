"""Coefficients and decisions of the estimators of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from distsvm.data import TableData
from distsvm.data.features import as_rows
from distsvm.estimators.form import EstimatorForm, all_chunks
from distsvm.estimators.validation import (
    checked_examples,
    checked_features,
    checked_labels,
    checked_weight,
    names_of_features,
)
from distsvm.structures.classes.predictor import ClassPredictor
from distsvm.structures.classes.task import ClassTask

MAPPED_ROWS = 1 << 14
"""Rows that a feature map has in memory at a time."""


class LinearForm(EstimatorForm):
    """Rows of a table with labels; after fit there are classes_, coef_ and intercept_."""

    sparse = True
    decides = True

    def training_data(self, X: Any, y: Any, weight: Any) -> TableData:
        X, y = checked_examples(self.estimator, X, y)
        self.classes, y = checked_labels(y)
        return TableData(X, y, checked_weight(weight), names_of_features(self.estimator))

    def keep(self) -> None:
        """Set classes_, coef_ and intercept_ of the estimator."""
        self.keep_classes()
        fitted: Any = self.estimator
        fitted.coef_, fitted.intercept_ = self.coefficients()

    def keep_classes(self) -> None:
        """Set classes_; a task may have some that are not in the data."""
        fitted: Any = self.estimator
        labels = fitted.model_.task.labels
        fitted.classes_ = self.classes if self.classes.size == labels.size else labels

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coef_ and intercept_, for unscaled features: they include the scaler."""
        model: Any = self.estimator.model_
        task: ClassTask = model.task
        V, bias = task.weights(model.w)
        V, bias = task.per_class(V), task.per_class(bias)
        if bias.size == 2:
            V, bias = V[:, 1:] - V[:, :1], bias[1:] - bias[:1]
        return np.ascontiguousarray(V.T), bias.copy()

    def data(self, X: Any, y: Any = None) -> TableData:
        labels = None if y is None else checked_labels(np.asarray(y))[1]
        return TableData(checked_features(self.estimator, X), labels)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score, the first of them in a tie."""
        chosen = [
            (piece > 0).astype(np.intp) if piece.ndim == 1 else np.argmax(piece, axis=1)
            for piece in self._decisions(X)
        ]
        fitted: Any = self.estimator
        return fitted.classes_[np.concatenate(chosen)]

    def decision(self, X: Any) -> np.ndarray:
        return np.concatenate(list(self._decisions(X)))

    def _decisions(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the decision function of a few rows at a time."""
        predictor: Any = self.estimator.model_.predictor
        assert isinstance(predictor, ClassPredictor)
        # As fit had as many columns and finite values, which were checked again.
        given = as_rows(checked_features(self.estimator, X), ordered=False)
        task: Any = self.estimator.model_.task
        some = given.n_rows if task.features is None else MAPPED_ROWS
        for start in range(0, given.n_rows, some):
            oracle = predictor.over(given.rows(start, min(start + some, given.n_rows)))
            assert oracle is not None
            for rows in all_chunks(oracle):
                scores = oracle.scores(predictor.view, rows)
                yield scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
