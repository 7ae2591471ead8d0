"""Outputs of any plain kind as JSON, and back to equal values of the same types."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

from distsvm.errors import TaskError
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.making import read_function

WIDE = 1 << 24  # bytes of an array of texts above which its items are no wider than the longest


def to_json(value: Any) -> Any:
    """Return numbers, strings, lists, tuples, dicts, sets and arrays as JSON-able data.

    Tasks are written by it, too, so it takes kernel functions.
    """
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return {"float": str(float(value))}  # JSON has no such number
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        kind = "frozenset" if isinstance(value, frozenset) else "set"
        return {kind: sorted((to_json(item) for item in value), key=canonical)}
    if isinstance(value, np.ndarray):
        items = value.tolist()
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            items = to_json(items)
        return {"array": items, "dtype": value.dtype.str}
    if isinstance(value, dict):
        return {"dict": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, KernelFunction):
        return {"kernel_function": value.to_json()}
    raise TaskError(
        f"an output of type {type(value).__name__} cannot be written to a file; "
        "give the task encode_output and decode_output"
    )


def from_json(data: Any) -> Any:
    """Return the value that `to_json` turned into `data`."""
    if isinstance(data, list):
        return [from_json(item) for item in data]
    if isinstance(data, dict):
        if "array" in data:
            return _array(data["array"], np.dtype(data["dtype"]))
        ((kind, items),) = data.items()
        if kind == "float":
            return float(items)
        if kind == "kernel_function":
            return read_function(items)
        if kind == "dict":
            return {from_json(k): from_json(v) for k, v in items}
        make = {"tuple": tuple, "set": set, "frozenset": frozenset}[kind]
        return make(from_json(item) for item in items)
    return data


def _array(items: Any, dtype: np.dtype) -> np.ndarray:
    """Return np.array(items, dtype); a wide array of texts gets the width of its longest item."""
    if dtype.kind not in "biufcmMUS":
        raise ValueError(f"an array of type {dtype}, expected numbers or texts")
    if dtype.kind not in "US":
        return np.array(from_json(items) if dtype.kind == "f" else items, dtype=dtype)
    array = np.array(items, dtype=dtype.kind)
    return array.astype(dtype) if array.size * dtype.itemsize <= WIDE else array


def canonical(data: Any) -> str:
    """Return JSON text that is the same for equal data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> int:
    """Return a 64-bit digest of a text, the same in every process (hash() is not)."""
    raw = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(raw, "little", signed=True)
