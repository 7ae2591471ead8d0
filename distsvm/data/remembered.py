"""How files were read in training, for models to keep: new files are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from distsvm.data.opening import FORMATS, kind_of_files
from distsvm.data.templates import Templates
from distsvm.structures.sequences.readers.conll import ConllData

# What decides the features of a token, whichever format its file has.
FEATURES = {"templates", "hash_bits"}
WITH_TEMPLATES = {"conll", "conllu"}
# What says which column of a CoNLL file is what.
LAYOUT = {"tag", "word", "separator", "comment"}
# Which examples are trained on: others are predicted and scored all the same.
FILTERS = {"max_length"}
# Not how files are read, but which.
PLACES = {"source", "paths", "outputs", "tables", "weight"}


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of open_data in JSON's terms, which open_data takes as well."""

    def plain(name: str, value: Any) -> Any:
        if name == "dtype":
            return np.dtype(value).name
        return str(value) if isinstance(value, Templates) else value

    return {name: plain(name, value) for name, value in options.items()}


def remembered(source: Any, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a model notes of its training data; None where that was not in files.

    Weights are left out: data to predict on has none.
    """
    kind = kind_of_files(source, options.get("format"))
    if kind is None:
        return None
    kept = {name: value for name, value in options.items() if name != "weight"}
    if kind == "conll":
        reading = {name: value for name, value in kept.items() if name != "format"}
        n_columns = ConllData(source, **reading).width()
        kept |= {} if n_columns is None else {"n_columns": n_columns}
    return {"kind": kind, "options": plain_options(kept)}


def check_notes(notes: Any) -> None:
    """Refuse, with a ValueError, what `remembered` cannot have made; a file may say anything."""
    if notes is None:
        return
    options = notes["options"]
    if notes["kind"] not in FORMATS.values() or not isinstance(options, dict):
        raise ValueError(f"the notes on its data are of {notes['kind']!r}, which is no format")
    for name, value in options.items():
        if name in PLACES or not isinstance(value, (str, int, float, list, type(None))):
            raise ValueError(f"the notes on its data have the option {name}={value!r}")


def recalled(
    notes: Mapping[str, Any] | None, source: Any, given: Mapping[str, Any], tables: bool = True
) -> dict[str, Any]:
    """The options to open `source` with: those given, then those of the training data.

    What only chose the examples to train on is not taken over. A format that was named in training
    counts for other files too. Where theirs is another one after all, only what decides the
    features is taken over. The number of columns is not where others are named than in training.
    """
    if notes is None:
        return dict(given)
    noted = {name: value for name, value in notes["options"].items() if name not in FILTERS}
    kind = kind_of_files(source, given.get("format", noted.get("format")), tables)
    if kind is None:
        return dict(given)
    if any(given[name] != noted.get(name) for name in LAYOUT & given.keys()):
        noted.pop("n_columns", None)
    if kind != notes["kind"]:
        own = FEATURES if kind in WITH_TEMPLATES else set()
        noted = {name: value for name, value in noted.items() if name in own}
    return {**noted, **given}
