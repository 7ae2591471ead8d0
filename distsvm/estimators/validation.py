"""Checks of input, with scikit-learn's messages and distsvm's error types."""

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
    """Return features and labels for fit, and set n_features_in_ (and feature_names_in_).

    float32 stays float32 and integers stay integers; sparse features become CSR.
    """
    with _data_errors(X):
        X, y = validate_data(estimator, X, y, accept_sparse="csr")
        check_classification_targets(y)
    return X, y


def names_of_features(estimator: BaseEstimator) -> Any:
    """Return the names that fit saw, None where features have none."""
    return getattr(estimator, "feature_names_in_", None)


def checked_features(estimator: BaseEstimator, X: Any) -> Any:
    """Return features for prediction, refused unless they match those of fit."""
    with _data_errors(X):
        return validate_data(estimator, X, reset=False, accept_sparse="csr")


def checked_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels in increasing order, and y as the task takes it.

    Strings that are Python objects become an array of strings, which a file can store.
    """
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise DataError(f"labels of different kinds: {error}") from error
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        return classes, classes.astype(str)[codes]
    return classes, y


def checked_weight(sample_weight: Any) -> np.ndarray | None:
    """Return example weights as float64, not all zero; the data checks their number and sign."""
    if sample_weight is None:
        return None
    with _data_errors(None):
        weight = np.asarray(sample_weight, dtype=np.float64)
    if not weight.any():
        raise DataError("sample_weight: all weights are zero")
    return weight


def one_by_one(examples: Any) -> Sequence[Any]:
    """Return inputs or outputs of any kind as a sequence: rows of a table, else items."""
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
    """Turn scikit-learn's ValueErrors into DataErrors, with the place of a non-finite value."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        text = str(error)
        not_finite = text.startswith("Input X contains")
        raise DataError(f"{_place(X)}{text}" if not_finite else text) from error


def _place(X: Any) -> str:
    """Return the start of a message that names the first non-finite value of X."""
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
