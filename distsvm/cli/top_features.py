"""The features with the largest weights of each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.tasks.classes import BinaryTask, ClassTask


def read_names(path: str) -> list[str]:
    """The names of features, one a line."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--names {path}: cannot be read ({error})") from error


def top_features(model: Model, n: int, names: list[str] | None = None) -> list[dict[str, Any]]:
    """For each class the n features that speak most for it, and the n most against it.

    Weights are those of training: of scaled features where the model scales, so that features of
    any range compare. Features are named, or numbered as the data files count them.

    Returns
    -------
    list of dict
        label, norm, intercept, for and against, both lists of (feature, weight), strongest first.
    """
    task = model.task
    if not isinstance(task, ClassTask):
        return []
    if names is not None and len(names) < task.n_features:
        raise ConfigError(f"--names has {len(names)} lines, the model {task.n_features} features")
    trained = task.per_class(model.w.reshape(task.n_features + 1, -1))
    found = []
    for c, label in enumerate(task.labels.tolist()):
        weights = trained[:-1, c]
        found.append(
            {
                "label": label,
                "norm": float(np.linalg.norm(trained[:, c])),
                "intercept": float(trained[-1, c] * task.intercept_scaling),
                "for": _strongest(weights, n, task.index_base, names),
                "against": _strongest(-weights, n, task.index_base, names, sign=-1.0),
            }
        )
    # The lower class of two has the same weights with the other sign.
    return found[1:] if isinstance(task, BinaryTask) else found


def _strongest(
    weights: np.ndarray, n: int, base: int, names: list[str] | None, sign: float = 1.0
) -> list[tuple[Any, float]]:
    n = min(n, weights.size)
    if n <= 0:
        return []
    chosen = np.argpartition(-weights, n - 1)[:n]
    # Equal weights in the order of their numbers, so that equal models look equal.
    chosen = chosen[np.lexsort((chosen, -weights[chosen]))]
    return [
        (int(j) + base if names is None else names[j], sign * float(weights[j]))
        for j in chosen
        if weights[j] > 0
    ]
