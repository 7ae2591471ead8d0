"""Checks of numbers from files, before compiled code uses them without any check.

All errors are ValueErrors; the reader of the file adds its name.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int = 0) -> None:
    """Refuse a value that is no whole number ≥ least."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, expected a whole number ≥ {least}")


def number(name: str, value: Any) -> None:
    """Refuse a value that is no finite number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, expected a finite number")


def vector(name: str, value: Any, kind: str, size: int | None = None) -> np.ndarray:
    """Return the value, refused unless it is a vector of this kind ("f8", "u1", "U", …)."""
    fits = isinstance(value, np.ndarray) and value.ndim == 1
    if not (fits and kind in (value.dtype.str[1:], value.dtype.kind)):
        raise ValueError(f"{name} is no vector of {kind}")
    if size is not None and value.size != size:
        raise ValueError(f"{name} has {value.size} values, expected {size}")
    return value


def array(name: str, value: Any, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the value, refused unless it is an array of this kind and shape."""
    if not isinstance(value, np.ndarray) or kind not in (value.dtype.str[1:], value.dtype.kind):
        raise ValueError(f"{name} is no array of {kind}")
    if value.shape != shape:
        raise ValueError(f"{name} has the shape {value.shape}, expected {shape}")
    return value


def finite(name: str, value: Any, size: int | None = None) -> np.ndarray:
    """Return the value, refused unless it is a vector of finite float64."""
    if not np.isfinite(vector(name, value, "f8", size)).all():
        raise ValueError(f"{name} has a value that is not finite")
    return value


def within(name: str, value: Any, low: int, high: int, size: int | None = None) -> np.ndarray:
    """Return the value, refused unless it is a vector of integers in low … high − 1."""
    if vector(name, value, "i", size).size and not (value.min() >= low and value.max() < high):
        raise ValueError(f"{name} has a number outside {low} … {high - 1}")
    return value


def starts(name: str, value: Any, n_values: int, n_rows: int | None = None) -> np.ndarray:
    """Return the value, refused unless it is the starts of rows of n_values values, and the end."""
    size = None if n_rows is None else n_rows + 1
    if not within(name, value, 0, n_values + 1, size).size or (value[1:] < value[:-1]).any():
        raise ValueError(f"{name} does not cut {n_values} values into rows")
    return value


def increasing(name: str, value: np.ndarray) -> None:
    """Refuse values that do not increase."""
    if (value[1:] <= value[:-1]).any():
        raise ValueError(f"{name} does not increase")


def slots(row: np.ndarray, value: Any, most: int) -> np.ndarray:
    """Return the slots of saved planes, refused unless those of each row are 0, 1, 2, …"""
    slot = within("slot", value, 0, most, row.size)
    new = np.concatenate([[True], row[1:] != row[:-1]]) if row.size else np.zeros(0, dtype=bool)
    first = np.flatnonzero(new)
    place = np.arange(row.size) - np.repeat(first, np.diff([*first, row.size]))
    if (row[1:] < row[:-1]).any() or (slot != place).any():
        raise ValueError("the slots of its planes leave holes")
    return slot
