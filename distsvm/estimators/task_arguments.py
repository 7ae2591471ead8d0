"""Arguments of an estimator that are the task's to know: loss, intercept and class weights."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.oracles.task import Task

FIELDS = {
    "loss": "losses",
    "loss_scale": "loss_scale",
    "fit_intercept": "intercept_scaling",
    "intercept_scaling": "intercept_scaling",
    "class_weight": "class_weight",
}
"""The field of a task that each argument sets."""


def intercept_value(fit_intercept: bool, intercept_scaling: Any) -> float:
    """The value of the constant feature: intercept_scaling, or 0 for no intercept."""
    scaling = intercept_scaling
    if not (np.isreal(scaling) and np.isfinite(scaling) and scaling > 0):
        raise ConfigError("intercept_scaling", scaling, "a number > 0")
    return float(scaling) if fit_intercept else 0.0


def with_arguments(task: Task, **arguments: Any) -> Task:
    """The task with the arguments (of FIELDS) that are not None.

    fit_intercept=True leaves the task's own value of the constant feature as it is, or makes it
    1 where it is 0. An argument for which the task has no field is a ConfigError.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if not given:
        return task
    own_fields: tuple[Field, ...] = fields(task) if is_dataclass(task) else ()
    known = {f.name for f in own_fields if f.init}
    for name in given:
        if FIELDS[name] not in known:
            raise ConfigError(
                f"{name}={given[name]!r}: {type(task).__name__} has no field {FIELDS[name]!r} "
                f"for it; leave {name} at None"
            )
    changes = {FIELDS[name]: value for name, value in given.items() if name != "fit_intercept"}
    if "fit_intercept" in given or "intercept_scaling" in given:
        own = task.intercept_scaling or 1.0  # type: ignore[attr-defined]
        changes["intercept_scaling"] = intercept_value(
            given.get("fit_intercept", True), given.get("intercept_scaling", own)
        )
    return replace(task, **changes)  # type: ignore[type-var]
