"""Models of classes behind the service: rows of numbers, labels, and what decided."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.cli.strongest import strongest
from distsvm.model import Model
from distsvm.service.parts import Answers, numbers_of
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.classes.task import ClassTask

MOST_FEATURES = 10
"""Features that decided: those which raise the score of the label over the next one's most."""


def inputs(model: Model, values: list[Any]) -> list[Any]:
    size = _task(model).n_features
    return [numbers_of(number, value, size) for number, value in enumerate(values)]


def joined(rows: list[Any]) -> np.ndarray:
    return np.array(rows, dtype=np.float64)


def outputs(model: Model, found: Any) -> list[Any]:
    return found.tolist()


def details(model: Model, rows: list[Any]) -> list[dict[str, Any]]:
    """Return the scores of all classes, and the features that decided, with their shares."""
    task, table = _task(model), joined(rows)
    oracle = model.bound_here(table)
    assert isinstance(oracle, ClassOracle)
    scores = oracle.scores(model.view, np.arange(oracle.n))
    labels = task.labels.tolist()
    weights = task.per_class(model.w.reshape(task.n_features + 1, -1))[:-1]
    if task.scaler is not None:
        weights = weights / task.scaler[:, None]
    found = []
    for row, own in zip(table, scores, strict=True):
        best, second = (int(c) for c in np.argsort(-own, kind="stable")[:2])
        shares = row * (weights[:, best] - weights[:, second])
        deciding = strongest(shares, MOST_FEATURES, lambda j: j + task.index_base)
        found.append(
            {
                "scores": [list(pair) for pair in zip(labels, own.tolist(), strict=True)],
                "over": labels[second],
                "decided": [[feature, share] for feature, share in deciding],
            }
        )
    return found


def example(model: Model) -> Any:
    return [0.0] * min(_task(model).n_features, 1000)


def _task(model: Model) -> ClassTask:
    assert isinstance(model.task, ClassTask)
    return model.task


ANSWERS = Answers(
    "a row of numbers, one for each feature", inputs, outputs, joined, details, example
)
