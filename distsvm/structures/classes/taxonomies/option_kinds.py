"""The kinds of values that the options of taxonomies take: files in a shell, values in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from distsvm.kinds import Kind, Unfit
from distsvm.structures.classes.option_kinds import LossChoice
from distsvm.structures.classes.taxonomies.files import (
    read_glosses,
    read_similarities,
    read_taxonomy,
)
from distsvm.structures.classes.taxonomies.taxonomy import Taxonomy
from distsvm.wording import Form, Message


class TreeLossChoice(LossChoice):
    """ "zero-one", "tree", or a cost matrix; a shell and a file name the file of the matrix."""

    expected = Message(
        Form(
            "'zero-one', 'tree', or an array of shape (k, k)",
            "zero-one, tree, or a file with a cost matrix",
        )
    )


class TaxonomyChoice(Kind):
    """A Taxonomy, or what makes one: a file, nested dicts and lists, or pairs."""

    expected = Message(
        Form(
            "a Taxonomy, the path of its file, nested dicts and lists of names, a list of pairs "
            "(node, parent), or None",
            "a file: nested JSON (.json), or lines of a node, a tab and its parent",
        )
    )

    def check(self, value: Any) -> Any:
        if value is None or isinstance(value, Taxonomy):
            return value
        if isinstance(value, (str, os.PathLike)):
            return read_taxonomy(os.fspath(value))
        if isinstance(value, Mapping):
            return Taxonomy.of_nested(value)
        if isinstance(value, (list, tuple)) and value:
            if all(isinstance(item, (list, tuple)) and len(item) == 2 for item in value):
                return Taxonomy.of_parents([(str(a), _text(b)) for a, b in value])
            if all(isinstance(item, str) for item in value):
                return Taxonomy.of_nested(list(value))
        raise Unfit

    def read(self, text: str) -> Any:
        return text  # a file, which is read where the task is made

    def from_toml(self, found: Any) -> Any:
        if not isinstance(found, str):
            raise TypeError
        return found


class Glosses(TaxonomyChoice):
    """Texts about classes by their labels, or the file of them."""

    expected = Message(
        Form(
            "a dict of class to text, the path of its file, or None",
            "a file: JSON (.json), or lines of a class, a tab and its gloss",
        )
    )

    def check(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, (str, os.PathLike)):
            return read_glosses(os.fspath(value))
        if not isinstance(value, Mapping) or not value:
            raise Unfit
        if not all(isinstance(text, str) for text in value.values()):
            raise Unfit
        return {str(label): text for label, text in value.items()}


class Similarities(TaxonomyChoice):
    """A matrix with the classes of its rows, or the file of it."""

    expected = Message(
        Form(
            "an array of shape (k, k) in increasing order of labels, a tuple of the names of its "
            "rows and the array, the path of its file, or None",
            "a file: a line of the classes, and then a line of numbers for each",
        )
    )

    def check(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, (str, os.PathLike)):
            value = read_similarities(os.fspath(value))
        names, matrix = value if isinstance(value, tuple) and len(value) == 2 else (None, value)
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise Unfit from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise Unfit
        if names is None:
            return None, matrix
        names = list(map(str, names))
        if len(names) != len(matrix) or len(set(names)) < len(names):
            raise Unfit
        return names, matrix


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)
