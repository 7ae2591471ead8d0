"""Small problems with a kernel function, and their optima from cvxpy."""

import cvxpy as cp
import numpy as np

from distsvm.structures.classes.kernel_task import KernelBinaryTask, KernelMulticlassTask

GAMMA, C = 0.6, 8.0
COST = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [1.0, 3.0, 0.0]])
CODES = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.5, 0.0]])


def examples(n=60, k=2, seed=0):
    """Points whose classes no line separates, and some that are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=n)
    y = (score > 0).astype(int)
    return X, y + (X[:, 2] > 0.6) if k == 3 else y, rng.integers(0, 3, n) + 0.5


PROBLEMS = {
    "binary": (KernelBinaryTask(gamma=GAMMA), 2),
    "binary without intercept": (KernelBinaryTask(gamma=GAMMA, intercept_scaling=0.0), 2),
    "balanced": (KernelBinaryTask(gamma=GAMMA, class_weight="balanced", loss_scale=3.0), 2),
    "three classes": (KernelMulticlassTask(gamma=GAMMA), 3),
    "costs": (KernelMulticlassTask(gamma=GAMMA, losses=COST, kernel="laplacian"), 3),
    "codes": (KernelMulticlassTask(gamma=0.2, coef0=1.0, kernel="poly", degree=2, codes=CODES), 3),
}


def optimum(task, X, y, weight, rescaling, C=C):
    """The optimum of ½‖w‖² + C·R(w) for a prepared task, over features whose products are K."""
    from distsvm.data.features import as_rows

    rows = as_rows(X)
    gram = task.function.block(rows, task.function.anchors(rows, np.arange(len(X))))
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    features = vectors * np.sqrt(np.maximum(values, 0))
    features = np.column_stack([features, np.full(len(X), task.intercept_scaling)])
    codes = task.code_table()
    codes = np.eye(task.labels.size) if codes is None else codes
    losses, truth = task.loss_matrix(), np.searchsorted(task.labels, y)
    c = np.asarray(weight, float)
    if task.class_weights is not None:
        c = c * task.class_weights[truth]
    w = cp.Variable((features.shape[1], codes.shape[1]))
    scores = features @ w @ codes.T
    own = cp.sum(cp.multiply(scores, np.eye(len(losses))[truth]), axis=1, keepdims=True)
    behind = own @ np.ones((1, len(losses))) - scores
    delta = losses[truth]
    values = delta - behind if rescaling == "margin" else cp.multiply(delta, 1 - behind)
    risk = (c / c.sum()) @ cp.max(values, axis=1)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * risk))
    return problem.solve(solver="CLARABEL")


def primal_of(model, X, y, weight, rescaling, C=C):
    """½‖w‖² + C·R(w) of a model, from its own scores and kernel values."""
    from distsvm.data.features import as_rows
    from distsvm.data.shard import Shard

    task = model.task
    anchors, V = task.anchor_rows, model.w.reshape(-1, task.n_codes)
    gram = task.function.block(anchors, anchors)
    norm2 = np.sum((gram @ V[:-1]) * V[:-1]) + V[-1] @ V[-1]
    oracle = task.oracle(Shard(as_rows(X), np.asarray(y), np.asarray(weight)), rescaling)
    truth, everything = np.searchsorted(task.labels, y), np.arange(len(X))
    scores = oracle.scores(oracle.view(model.w), everything)
    delta = task.loss_matrix()[truth]
    behind = scores[everything, truth][:, None] - scores
    values = delta - behind if rescaling == "margin" else delta * (1 - behind)
    c = np.asarray(weight, float)
    if task.class_weights is not None:
        c = c * task.class_weights[truth]
    return 0.5 * norm2 + C * (c / c.sum()) @ values.max(axis=1)
