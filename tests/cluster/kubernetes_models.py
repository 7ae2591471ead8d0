"""What is wrong with a Kubernetes object, by the models that lightkube-models has of its schema."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest


def model(module: str, name: str) -> Any:
    """A class of the models, which are wanted alone: the client that they belong to is not."""
    pytest.importorskip("lightkube.models", reason="lightkube-models is not installed")
    if "lightkube.core.schema" not in sys.modules:
        schema: Any = types.ModuleType("lightkube.core.schema")
        schema.dataclass, schema.field = dataclasses.dataclass, dataclasses.field
        schema.DictMixin = type("DictMixin", (), {})
        sys.modules["lightkube.core"] = types.ModuleType("lightkube.core")
        sys.modules["lightkube.core.schema"] = schema
    return getattr(import_module(f"lightkube.models.{module}"), name)


def problems(value: Any, kind: Any, where: str) -> Iterator[str]:
    """Fields that are unknown, missing or of another type."""
    if get_origin(kind) is Union:
        kinds = [one for one in get_args(kind) if one is not type(None)]
        if len(kinds) == 1:
            yield from problems(value, kinds[0], where)
        elif not isinstance(value, tuple(kinds)):
            yield f"{where} is {value!r}"
    elif get_origin(kind) is list:
        if not isinstance(value, list):
            yield f"{where} is {value!r}, expected a list"
            return
        for i, item in enumerate(value):
            yield from problems(item, get_args(kind)[0], f"{where}[{i}]")
    elif get_origin(kind) is dict or kind is dict:
        if not isinstance(value, dict):
            yield f"{where} is {value!r}, expected a map"
            return
        of = get_args(kind)[1] if get_args(kind) else object
        for key, item in value.items():
            yield from problems(item, of, f"{where}.{key}")
    elif dataclasses.is_dataclass(kind):
        yield from _fields(value, kind, where)
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        yield f"{where} is {value!r}, expected {kind.__name__}"


def _fields(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is {value!r}, expected {kind.__name__}"
        return
    hints = get_type_hints(kind)
    fields = {field.metadata.get("json", field.name): field for field in dataclasses.fields(kind)}
    for name, item in value.items():
        if name not in fields:
            yield f"{where}.{name} is no field of {kind.__name__}"
        else:
            yield from problems(item, hints[fields[name].name], f"{where}.{name}")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING
        if needed and field.default_factory is dataclasses.MISSING and name not in value:
            yield f"{where}.{name} is missing"
