"""The options that a model's training files were read with, for reading new files alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from distsvm.data.formats import file_format
from distsvm.data.opening import kind_of_files, open_data
from distsvm.data.templates import Templates
from distsvm.oracles.structure import FileFormat

# These say which files are read, not how.
PLACES = {"source", "paths", "outputs", "tables", "weight"}


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of open_data as values for JSON, which open_data takes as well."""

    def plain(name: str, value: Any) -> Any:
        if name == "dtype":
            return np.dtype(value).name
        return str(value) if isinstance(value, Templates) else value

    return {name: plain(name, value) for name, value in options.items()}


def remembered(source: Any, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a model's notes on its training data; None where that was not in files.

    Weights are left out: data to predict on has none.
    """
    kind = kind_of_files(source, options.get("format"))
    if kind is None:
        return None
    kept = {name: value for name, value in options.items() if name != "weight"}
    if _format(kind).learnt:
        data: Any = open_data(source, **kept)
        kept |= {name: value for name, value in data.learnt().items() if value is not None}
    return {"kind": kind, "options": plain_options(kept)}


def check_notes(notes: Any) -> None:
    """Raise a ValueError for notes, read from a file, that `remembered` cannot have made."""
    if notes is None:
        return
    options = notes["options"]
    if file_format(notes["kind"]) is None or not isinstance(options, dict):
        raise ValueError(f"the notes on its data are of {notes['kind']!r}, which is no format")
    for name, value in options.items():
        if name in PLACES or not isinstance(value, (str, int, float, list, type(None))):
            raise ValueError(f"the notes on its data have the option {name}={value!r}")


def recalled(
    notes: Mapping[str, Any] | None, source: Any, given: Mapping[str, Any], tables: bool = True
) -> dict[str, Any]:
    """Return the options to open `source` with: those given, then those of the training data.

    Filters, which chose the training examples, are left out. A format that was named in training
    counts for new files. If these have another format, only the options that decide the features
    count. If an option of the layout is given anew, options learnt from the training files are left
    out.
    """
    if notes is None:
        return dict(given)
    format = _format(notes["kind"])
    noted = {name: value for name, value in notes["options"].items() if name not in format.filters}
    kind = kind_of_files(source, given.get("format", noted.get("format")), tables)
    if kind is None:
        return dict(given)
    left_out = set()
    if any(given[name] != noted.get(name) for name in set(format.layout) & given.keys()):
        left_out = set(format.learnt)
    if kind != notes["kind"]:
        left_out = noted.keys() - set(_format(kind).features)
    return {**{name: noted[name] for name in noted.keys() - left_out}, **given}


def _format(kind: str) -> FileFormat:
    found = file_format(kind)
    assert found is not None, kind
    return found
