"""Arguments of an estimator that become fields of its task."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from distsvm.errors import ConfigError
from distsvm.kinds import Truth, number
from distsvm.options import Option, declared
from distsvm.oracles.task import Task
from distsvm.wording import Message

FIELDS = {
    "loss": "losses",
    "loss_scale": "loss_scale",
    "fit_intercept": "intercept_scaling",
    "intercept_scaling": "intercept_scaling",
    "class_weight": "class_weight",
}
"""The field of a task that each argument of StructuralSVM sets."""

INTERCEPT = Option(number(above=0), Message(""), name="intercept_scaling")
"""An estimator has fit_intercept where the task's field has 0."""

T = TypeVar("T", bound=Task)


def intercept_value(fit_intercept: bool, intercept_scaling: Any) -> float:
    """Return the value of the constant feature: intercept_scaling, or 0 for no intercept."""
    scaling: float = INTERCEPT.check(intercept_scaling)
    return scaling if fit_intercept else 0.0


def declared_task(task_class: type[T], estimator: Any, **fields: Any) -> T:
    """Return a task with these fields; its other options are the estimator's arguments."""
    for name, own in declared(task_class).items():
        if name not in fields:
            value = getattr(estimator, own.argument or name)
            fields[name] = bool(value) if isinstance(own.kind, Truth) else value
    return task_class(**fields)


def with_arguments(task: Task, **arguments: Any) -> Task:
    """Return the task with the arguments (of FIELDS) that are not None.

    fit_intercept=True keeps the task's own value of the constant feature, or sets it to 1 where it
    is 0. An argument for which the task has no field is a ConfigError.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if not given:
        return task
    own_fields: tuple[Any, ...] = fields(task) if is_dataclass(task) else ()
    known = {f.name for f in own_fields if f.init}
    for name in given:
        if FIELDS[name] not in known:
            raise ConfigError(
                f"{name}={given[name]!r}: {type(task).__name__} has no field {FIELDS[name]!r} "
                f"for it; leave {name} at None"
            )
    changes = {FIELDS[name]: value for name, value in given.items() if name != "fit_intercept"}
    if "intercept_scaling" in changes or "fit_intercept" in given:
        own = task.intercept_scaling or 1.0  # type: ignore[attr-defined]
        changes["intercept_scaling"] = intercept_value(
            given.get("fit_intercept", True), given.get("intercept_scaling", own)
        )
    return replace(task, **changes)  # type: ignore[type-var]
