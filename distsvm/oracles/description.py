"""Tasks as JSON and arrays, and back: a saved one needs no pickle."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from distsvm.errors import ModelError
from distsvm.feature_maps import FeatureMap, read_map
from distsvm.oracles.outputs import from_json, to_json
from distsvm.oracles.task import LATER, Task
from distsvm.registry import task_classes
from distsvm.wording import Form, message


def describe(task: Task) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a task as JSON-able data and arrays."""
    if not is_dataclass(task):
        raise ModelError(
            f"{type(task).__name__} is not a dataclass, so it cannot be written to a file; "
            "make it a frozen dataclass"
        )
    name = task_classes().name_of(type(task))
    kind = name or f"{type(task).__module__}.{type(task).__qualname__}"
    values: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for field in fields(task):
        name, value = field.name, getattr(task, field.name)
        if LATER.items() <= field.metadata.items() and value is field.default:
            continue
        if isinstance(value, np.ndarray) and value.dtype != object:
            arrays[name] = value
        elif isinstance(value, FeatureMap):
            data, own = value.to_parts()
            values[name] = {"map": data}
            arrays |= {f"{name}.{part}": array for part, array in own.items()}
        else:
            values[name] = to_json(value)
    return {"task": kind, "fields": values}, arrays


def rebuild(
    data: dict[str, Any], arrays: dict[str, np.ndarray], task_class: type[Task] | None = None
) -> Task:
    """Return the task from the result of `describe`; a task of the user's own needs its class."""
    cls = task_class or task_classes().get(data["task"])
    if cls is None:
        raise ModelError(
            message(
                "the model is of the task {}, which is not built in; {}",
                repr(data["task"]),
                Form(
                    "pass its class: load_model(path, task=...), or resume(run_dir, task=...)",
                    "name its class: --task FILE.py:CLASS",
                ),
            )
        )
    maps = {name: given for name, given in data["fields"].items() if _is_map(given)}
    values = {name: from_json(own) for name, own in data["fields"].items() if name not in maps}
    values |= arrays  # run.json has arrays among the fields
    for name, given in maps.items():
        parts = {part: values.pop(part) for part in list(values) if part.startswith(f"{name}.")}
        own = {part.removeprefix(f"{name}."): array for part, array in parts.items()}
        values[name] = read_map(given["map"], own)
    unknown = set(values) - {f.name for f in fields(cls)}  # type: ignore[arg-type]
    if unknown:
        raise ModelError(f"{cls.__name__} has no field {sorted(unknown)[0]!r} that the model has")
    return cls(**values)


def _is_map(given: Any) -> bool:
    return isinstance(given, dict) and set(given) == {"map"}
