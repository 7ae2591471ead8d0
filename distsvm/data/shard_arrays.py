"""Shards as plain arrays and notes, and back.

A class of inputs or outputs has `to_arrays()`, which returns named arrays and notes for JSON, and
`from_arrays(arrays, notes)`, which checks them and makes the object again. The notes name the class
by a key of KINDS or of Structure.shard_arrays, so a file never chooses a module to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from distsvm import checks
from distsvm.data.shard import Shard
from distsvm.oracles.structure import imported, reference_of
from distsvm.registry import STRUCTURES

Arrays: TypeAlias = "dict[str, np.ndarray]"

KINDS = {"dense": "distsvm.data.features:DenseRows", "sparse": "distsvm.data.features:SparseRows"}
LABELS = "labels"
"""Outputs that are one NumPy array."""


def arrays_of(shard: Shard) -> tuple[Arrays, dict[str, Any]] | None:
    """Return the shard's arrays and its notes; None if it has Python objects."""
    arrays: Arrays = {} if shard.weight is None else {"weight": shard.weight}
    notes: dict[str, Any] = {"source": shard.source, "columns": shard.columns}
    for name, items in (("x", shard.x), ("y", shard.y)):
        if items is None:
            notes[name] = None
        elif isinstance(items, np.ndarray) and items.dtype != object:
            arrays[name], notes[name] = items, {"kind": LABELS}
        elif (kind := _kind(items)) is not None:
            own, more = items.to_arrays()  # type: ignore[union-attr]
            arrays |= {f"{name}_{part}": array for part, array in own.items()}
            notes[name] = {"kind": kind, **more}
        else:
            return None
    return arrays, notes


def shard_of(arrays: Arrays, notes: dict[str, Any]) -> Shard:
    """Return the shard that arrays_of gave these arrays and notes of."""
    x, y = (_items(name, arrays, notes[name]) for name in ("x", "y"))
    columns = notes.get("columns")
    if columns is not None:
        columns = tuple(map(str, columns))
        checks.whole("columns", len(columns), least=x.n_columns)
    return Shard(x, y, arrays.get("weight"), source=notes["source"], columns=columns)


def _items(name: str, arrays: Arrays, notes: dict[str, Any] | None) -> Any:
    if notes is None:
        return None
    if notes["kind"] == LABELS:
        return arrays[name]
    reference = next((kinds[notes["kind"]] for kinds in _kinds() if notes["kind"] in kinds), None)
    if reference is None:
        raise ValueError(f"{name} is of the kind {notes['kind']!r}, which no structure has")
    own = [key for key in arrays if key.startswith(f"{name}_")]
    named = {key.removeprefix(f"{name}_"): arrays[key] for key in own}
    return imported(reference).from_arrays(named, notes)


def _kind(items: Any) -> str | None:
    reference = reference_of(type(items))
    found = (kind for kinds in _kinds() for kind, one in kinds.items() if one == reference)
    return next(found, None)


def _kinds() -> Iterator[Mapping[str, str]]:
    yield KINDS
    yield from (structure.shard_arrays for structure in STRUCTURES.each())
