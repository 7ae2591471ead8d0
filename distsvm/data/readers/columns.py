"""Arrow columns as NumPy arrays; errors name the place of values that are missing or not finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.readers.layout import is_list, is_text
from distsvm.data.readers.tables import pyarrow
from distsvm.errors import DataError


@dataclass(frozen=True)
class Column:
    """Some rows of a file's column; the first of them is row `first` of the file."""

    path: str
    name: str
    first: int
    array: Any

    def place(self, row: int) -> str:
        return f"{row_place(self.path, self.first + row)}, column {self.name!r}"

    def numbers(self) -> np.ndarray:
        return _numbers(self.array, self.place)

    def weights(self) -> np.ndarray:
        weights = self.numbers().astype(np.float64)
        below = np.flatnonzero(weights < 0)
        if below.size:
            raise DataError(f"{self.place(below[0])}: {weights[below[0]]}, expected a weight ≥ 0")
        return weights

    def labels(self) -> np.ndarray:
        """Return int64, float64, booleans or strings."""
        _refuse_missing(self.array, self.place, "a label")
        if is_text(self.array.type):
            return self.array.to_numpy(zero_copy_only=False).astype(str)
        if pyarrow().types.is_integer(self.array.type):
            return self.array.cast(pyarrow().int64()).to_numpy()
        labels = self.numbers()
        return labels if labels.dtype == bool else labels.astype(np.float64)

    def values(self) -> list[Any]:
        """Return Python values: lists, dicts of structs and maps, strings and numbers.

        A missing value is refused. A struct's missing fields are left out, because all rows of a
        column have the same fields.
        """
        _refuse_missing(self.array, self.place, "a value")
        plain = _plain(self.array.type)
        found = []
        for row, value in enumerate(self.array.to_pylist()):
            try:
                found.append(plain(value))
            except _NotFinite as error:
                raise DataError(f"{self.place(row)}: {error}, expected finite numbers") from error
        return found

    def table(self, width: int) -> np.ndarray:
        """Return lists of this width as an array of shape (rows, width)."""
        lengths = self.lengths(self.array)
        bad = np.flatnonzero(lengths != width)
        if bad.size:
            raise DataError(
                f"{self.place(bad[0])}: a list of {lengths[bad[0]]}, expected {width} numbers "
                "in every row"
            )
        flat = _numbers(self.array.flatten(), lambda i: f"{self.place(i // width)}[{i % width}]")
        return flat.reshape(lengths.size, width)

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows' lengths, columns and values, of structs of indices and values."""
        _refuse_missing(self.array, self.place, "indices and values")
        indices, values = self.array.field("indices"), self.array.field("values")
        lengths, others = self.lengths(indices), self.lengths(values)
        bad = np.flatnonzero(lengths != others)
        if bad.size:
            raise DataError(
                f"{self.place(bad[0])}: {lengths[bad[0]]} indices and {others[bad[0]]} values, "
                "expected as many of one as of the other"
            )
        ends = np.cumsum(lengths)

        def place(entry: int) -> str:
            row = int(np.searchsorted(ends, entry, side="right"))
            return f"{self.place(row)}, entry {entry - (ends[row] - lengths[row])}"

        columns = _numbers(indices.flatten(), place).astype(np.int64)
        begins = (ends - lengths)[lengths > 0]
        before = np.concatenate([[-1], columns[:-1]]) if columns.size else columns
        before[begins] = -1
        bad = np.flatnonzero(columns <= before)
        if bad.size:
            raise DataError(
                f"{place(bad[0])}: index {columns[bad[0]]}, expected indices ≥ 0 that increase"
            )
        return lengths, columns, _numbers(values.flatten(), place)

    def lengths(self, lists: Any) -> np.ndarray:
        from pyarrow import compute

        _refuse_missing(lists, self.place, "a list")
        return compute.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)


def row_place(path: str, row: int) -> str:
    """Return the name of a row of a file, for messages."""
    return f"{path}, row {row} (from 0)"


class _NotFinite(ValueError):
    """A number inside a value is not finite."""


def _plain(type_: Any) -> Callable[[Any], Any]:
    """Return the function from a value of to_pylist to the one that readers give."""
    types = pyarrow().types
    if types.is_floating(type_):
        return _finite
    if is_list(type_):
        item = _plain(type_.value_type)
        return lambda value: value and [item(x) for x in value]
    if types.is_map(type_):
        key, item = _plain(type_.key_type), _plain(type_.item_type)
        return lambda value: value if value is None else {key(k): item(x) for k, x in value}
    if types.is_struct(type_):
        fields = {field.name: _plain(field.type) for field in type_}
        return lambda value: (
            value and {name: fields[name](x) for name, x in value.items() if x is not None}
        )
    return lambda value: value


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise _NotFinite(value)
    return value


def _numbers(array: Any, place: Callable[[int], str]) -> np.ndarray:
    _refuse_missing(array, place, "a number")
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise DataError(f"{place(int(bad[0]))}: {values[bad[0]]}, expected a finite number")
    return values


def _refuse_missing(array: Any, place: Callable[[int], str], expected: str) -> None:
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{place(row)}: a missing value, expected {expected}")
