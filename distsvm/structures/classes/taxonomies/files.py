"""Files of taxonomies, of the glosses of classes, and of similarities between them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from distsvm.errors import DataError
from distsvm.storage import opened_file, read_whole
from distsvm.structures.classes.taxonomies.taxonomy import Taxonomy

LARGEST = 1 << 28


def read_taxonomy(path: str) -> Taxonomy:
    """Return the taxonomy of a file: nested JSON (.json), or lines `node<TAB>parent`.

    The fields of a line may also have commas between them; `#` at its beginning makes a comment.
    The root has a line of its own name alone, or none.
    """
    if Path(path).suffix == ".json":
        return Taxonomy.of_nested(_json(path), path)
    pairs: list[tuple[str, str | None]] = []
    places = []
    for place, line in _lines(path):
        fields = [field.strip() for field in line.split("\t" if "\t" in line else ",")]
        if len(fields) > 2 or not fields[0]:
            raise DataError(f"{place}: {line!r}, expected a node and its parent")
        pairs.append((fields[0], fields[1] if len(fields) == 2 and fields[1] else None))
        places.append(place)
    if not pairs:
        raise DataError(f"{path}: the file has no nodes")
    return Taxonomy.of_parents(pairs, places)


def read_glosses(path: str) -> dict[str, str]:
    """Return the gloss of each class: JSON {class: text} (.json), or lines `class<TAB>text`."""
    if Path(path).suffix == ".json":
        found = _json(path)
        if not isinstance(found, dict) or not all(isinstance(t, str) for t in found.values()):
            raise DataError(f"{path}: expected an object with a text for each class")
        return found
    glosses: dict[str, str] = {}
    for place, line in _lines(path):
        name, tab, gloss = line.partition("\t")
        if not tab or not name.strip():
            raise DataError(f"{place}: {line!r}, expected a class, a tab and its gloss")
        if name.strip() in glosses:
            raise DataError(f"{place}: a second gloss of class {name.strip()!r}")
        glosses[name.strip()] = gloss.strip()
    return glosses


def read_similarities(path: str) -> tuple[list[str], np.ndarray]:
    """Return names and the matrix: a line of names, and then a line of numbers for each.

    Commas or tabs are between the fields; a line of numbers may begin with its name.
    """
    names: list[str] = []
    rows: list[list[float]] = []
    for place, line in _lines(path):
        fields = [field.strip() for field in line.split("\t" if "\t" in line else ",")]
        if not names:
            names = fields[1:] if not fields[0] else fields
            continue
        if len(fields) == len(names) + 1:
            if len(rows) < len(names) and fields[0] != names[len(rows)]:
                raise DataError(f"{place}: the row of {fields[0]!r}, expected {names[len(rows)]!r}")
            fields = fields[1:]
        if len(fields) != len(names):
            raise DataError(f"{place}: {len(fields)} numbers, expected {len(names)}")
        try:
            rows.append([float(field) for field in fields])
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
    if not names or len(rows) != len(names):
        raise DataError(f"{path}: {len(rows)} rows of numbers, expected one for each class")
    return names, np.array(rows)


def _lines(path: str) -> list[tuple[str, str]]:
    """Return the lines that are not empty, each with its place."""
    lines = enumerate(_text(path).splitlines(), 1)
    kept = [(f"{path}, line {number}", line) for number, line in lines]
    return [(place, line) for place, line in kept if line.strip() and not line.startswith("#")]


def _json(path: str) -> object:
    try:
        return json.loads(_text(path), object_pairs_hook=lambda pairs: _once(path, pairs))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise DataError(f"{path}: the objects are too deep; expected a list of parents") from None


def _once(path: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path}: two nodes of the same name, {twice!r}, below one node")
    return found


def _text(path: str) -> str:
    try:
        with opened_file(Path(path)) as file:
            content = read_whole(file, LARGEST)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    if content is None:
        raise DataError(f"{path}: the file is larger than {LARGEST} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no text ({error})") from None
