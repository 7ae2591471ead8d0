"""The objective of the classifiers in plain NumPy, from their public attributes alone."""

import numpy as np


def scores(estimator, X):
    """⟨w_y, x⟩ of every class; two classes get half of the decision each."""
    decision = X @ estimator.coef_.T + estimator.intercept_
    return decision @ np.array([[-0.5, 0.5]]) if decision.shape[1] == 1 else decision


def hinge(estimator, X, y, loss=None, rescaling="margin"):
    """H_i(w) of every example."""
    k = estimator.classes_.size
    loss = 1.0 - np.eye(k) if loss is None else np.asarray(loss, dtype=float)
    truth = np.searchsorted(estimator.classes_, y)
    s = scores(estimator, X)
    margin = s[np.arange(len(y)), truth][:, None] - s
    delta = loss[truth]
    return np.max(delta * (1 - margin) if rescaling == "slack" else delta - margin, axis=1)


def primal(estimator, X, y, C, *, weight=None, largest=1.0, intercept_scaling=1.0, **kind):
    """½‖w‖² + C·Σ c_i·H_i(w) / Σ c_i, the regulariser in the space of scaled features."""
    w = estimator.coef_ * largest
    bias = estimator.intercept_ / intercept_scaling
    weight = np.ones(len(y)) if weight is None else weight
    risk = weight @ hinge(estimator, X, y, **kind) / weight.sum()
    return 0.5 * (np.sum(w**2) + np.sum(bias**2)) + C * risk
