"""The columns of a table that are labels, weights and features, found by name in its schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distsvm.data.readers.tables import pyarrow
from distsvm.errors import DataError

COLUMNS, LISTS, SPARSE = "one column a feature", "lists of numbers", "indices and values"
VALUES = "one value of Python a row"
WEIGHT = "weight"


@dataclass(frozen=True)
class Layout:
    """The columns in use, in this order: label and weight if they are read, then the features.

    `form` is how a row stores its features. `width` is their number, None before the first row of
    lists is read. `types` are the columns' types, in words that do not depend on the file's writer.
    """

    path: str
    label: str | None
    weight: str | None
    features: tuple[str, ...]
    form: str
    width: int | None
    dtype: str
    types: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.label, self.weight) if name is not None) + self.features

    @classmethod
    def of(
        cls,
        path: str,
        schema: Any,
        label: str | None,
        features: str | None,
        weight: str | None,
        columns: tuple[str, ...] | None,
    ) -> Layout:
        """Return the layout of a file with this schema; see ParquetData for the names."""
        present = {field.name: field.type for field in schema}
        _check_there(path, present, (label, features, weight, *(columns or ())))
        if columns is None and features is None and _holds_all(present.get("features")):
            features = "features"
        if features is not None:
            used: tuple[str, ...] = (features,)
            form, width, value_type = _form(path, features, present[features])
            value_types = {value_type}
        else:
            used = columns or _number_columns(path, present, (label, weight))
            form, width, value_types = COLUMNS, len(used), {present[name] for name in used}
        for name in (weight, *(used if form == COLUMNS else ())):
            if name is not None and not is_number(present[name]):
                raise _unfit(path, name, present[name], "numbers")
        if label is not None and not (is_number(present[label]) or is_text(present[label])):
            raise _unfit(path, label, present[label], "integers, floats, strings or booleans")
        dtype = "float32" if value_types == {pyarrow().float32()} else "float64"
        names = [name for name in (label, weight, *used) if name is not None]
        types = tuple(described(present[name]) for name in names)
        return cls(path, label, weight, used, form, width, dtype, types)

    @classmethod
    def of_values(
        cls, path: str, schema: Any, label: str | None, features: str, weight: str | None
    ) -> Layout:
        """Return the layout of a file with a column of inputs and one of outputs, of any type.

        The default column of weights is "weight".
        """
        present = {field.name: field.type for field in schema}
        if weight is None and WEIGHT in present:
            weight = WEIGHT
        _check_there(path, present, (label, features, weight))
        if weight is not None and not is_number(present[weight]):
            raise _unfit(path, weight, present[weight], "numbers")
        # Types may differ between files: all become Python values.
        types = tuple("values" for name in (label, weight, features) if name is not None)
        return cls(path, label, weight, (features,), VALUES, None, "object", types)

    def check_same(self, other: Layout) -> None:
        """Refuse another file if its columns differ from this one's in more than their order."""
        mine = dict(zip(self.columns, self.types, strict=True))
        its = dict(zip(other.columns, other.types, strict=True))
        for name in sorted(mine.keys() | its.keys()):
            if mine.get(name) != its.get(name):
                raise DataError(
                    f"{other.path}: column {name!r} is {its.get(name, 'missing')}, expected "
                    f"{mine.get(name, 'none of this name')} as in {self.path}"
                )


def is_number(type_: Any) -> bool:
    types = pyarrow().types
    return types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_)


def is_text(type_: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(type_):
        return is_text(type_.value_type)
    return types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)


def is_list(type_: Any) -> bool:
    types = pyarrow().types
    return types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)


def described(type_: Any) -> str:
    """Return the type in words; variants of one type, which depend on the writer, are alike."""
    if is_text(type_):
        return "text"
    if is_list(type_):
        return f"lists of {described(type_.value_type)}"
    return str(type_)


def _check_there(path: str, present: dict[str, Any], names: tuple[str | None, ...]) -> None:
    for name in names:
        if name is not None and name not in present:
            raise DataError(f"{path}: no column {name!r}; there are {_listed(present)}")


def _holds_all(type_: Any) -> bool:
    return type_ is not None and (is_list(type_) or pyarrow().types.is_struct(type_))


def _number_columns(path: str, present: dict[str, Any], others: tuple[Any, ...]) -> tuple[str, ...]:
    found = tuple(
        name
        for name, type_ in present.items()
        # pandas writes its index beside the columns.
        if is_number(type_) and name not in others and not name.startswith("__index_level_")
    )
    if not found:
        raise DataError(f"{path}: no features, which are columns of numbers, in {_listed(present)}")
    return found


def _form(path: str, name: str, type_: Any) -> tuple[str, int | None, Any]:
    """Return the form, the width if the type fixes it, and the type of the values."""
    if is_list(type_) and is_number(type_.value_type):
        fixed = pyarrow().types.is_fixed_size_list(type_)
        return LISTS, type_.list_size if fixed else None, type_.value_type
    if pyarrow().types.is_struct(type_):
        fields = {field.name: field.type for field in type_}
        indices, values = fields.get("indices"), fields.get("values")
        if (
            indices is not None
            and values is not None
            and is_list(indices)
            and is_list(values)
            and pyarrow().types.is_integer(indices.value_type)
            and is_number(values.value_type)
        ):
            return SPARSE, None, values.value_type
    raise _unfit(path, name, type_, "lists of numbers, or a struct of the lists indices and values")


def _unfit(path: str, name: str, type_: Any, expected: str) -> DataError:
    return DataError(f"{path}: column {name!r} is {described(type_)}, expected {expected}")


def _listed(names: Any) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
