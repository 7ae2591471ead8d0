"""Bad input is refused here, in scikit-learn's words and with distsvm's error types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from distsvm.errors import DataError
from distsvm.messages import feature_name


def checked_examples(estimator: BaseEstimator, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Features and labels for fit; n_features_in_ (and feature_names_in_) are set.

    float32 stays float32 and integers stay integers; sparse features become CSR.
    """
    with _data_errors(X):
        X, y = validate_data(estimator, X, y, accept_sparse="csr")
        check_classification_targets(y)
    return X, y


def names_of_features(estimator: BaseEstimator) -> Any:
    """The names that fit saw, None where features have none."""
    return getattr(estimator, "feature_names_in_", None)


def checked_features(estimator: BaseEstimator, X: Any) -> Any:
    """Features for prediction, refused unless they are those of fit."""
    with _data_errors(X):
        return validate_data(estimator, X, reset=False, accept_sparse="csr")


def checked_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in increasing order, and y as the task takes it.

    Strings that came as Python objects are given to the task as an array of strings, which can
    be written to a file as it is.
    """
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise DataError(f"labels of different kinds: {error}") from error
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        return classes, classes.astype(str)[codes]
    return classes, y


def checked_weight(sample_weight: Any) -> np.ndarray | None:
    """Example weights as float64, not all zero; their number and sign are the data's to check."""
    if sample_weight is None:
        return None
    with _data_errors(None):
        weight = np.asarray(sample_weight, dtype=np.float64)
    if not weight.any():
        raise DataError("sample_weight: all weights are zero")
    return weight


def one_by_one(examples: Any) -> Sequence[Any]:
    """Inputs or outputs of any kind as a sequence: rows of what has rows, else items."""
    if isinstance(examples, (list, tuple)):
        return examples
    if sparse.issparse(examples):
        rows = examples.tocsr()
        return [rows[[i]] for i in range(rows.shape[0])]
    if hasattr(examples, "iloc"):
        return [examples.iloc[i] for i in range(len(examples))]
    try:
        return list(examples)
    except TypeError as error:
        raise DataError(
            f"examples are of type {type(examples).__name__}, expected a sequence"
        ) from error


@contextmanager
def _data_errors(X: Any) -> Iterator[None]:
    """scikit-learn's ValueErrors as DataErrors, which say where a value that is not finite is."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        text = str(error)
        not_finite = text.startswith("Input X contains")
        raise DataError(f"{_place(X)}{text}" if not_finite else text) from error


def _place(X: Any) -> str:
    """Which value of X is the first that is not finite, as the start of a message."""
    try:
        if sparse.issparse(X):
            entries = X.tocsr().tocoo()
            first = int(np.flatnonzero(~np.isfinite(entries.data))[0])
            row, column, value = entries.row[first], entries.col[first], entries.data[first]
        else:
            array = np.asarray(X, dtype=np.float64)
            row, column = np.argwhere(~np.isfinite(array))[0]
            value = array[row, column]
    except (TypeError, ValueError, IndexError):
        return ""  # a form that only scikit-learn can read
    return f"example {row}: {feature_name(_columns(X), column)} is {value}. "


def _columns(X: Any) -> list[str] | None:
    return list(map(str, X.columns)) if hasattr(X, "columns") else None
