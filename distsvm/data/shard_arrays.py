"""Shards as plain arrays and notes, and back: rows of features and tagged sequences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from distsvm import checks
from distsvm.data.features import DenseRows, SparseRows
from distsvm.data.ragged import Ragged, offsets
from distsvm.data.shard import Shard
from distsvm.structures.sequences.rows import SequenceRows, TagRows

Arrays: TypeAlias = "dict[str, np.ndarray]"


def arrays_of(shard: Shard) -> tuple[Arrays, dict[str, Any]] | None:
    """The shard's arrays, and what else there is to know; None where it holds Python objects."""
    x: Any = shard.x
    y: Any = shard.y
    arrays: Arrays = {} if shard.weight is None else {"weight": shard.weight}
    notes: dict[str, Any] = {"source": shard.source, "columns": shard.columns}
    if isinstance(x, SequenceRows):
        arrays |= _sparse(x.tokens, notes) | {"sequences": x.starts}
        arrays |= {} if x.names is None else _texts("names", x.names)
    elif isinstance(x, SparseRows):
        arrays |= _sparse(x, notes)
    elif isinstance(x, DenseRows):
        arrays["dense"] = x.values
    else:
        return None
    if isinstance(y, TagRows):
        arrays |= {"tags": y.codes.values, "tag_starts": y.codes.starts} | _texts("tag", y.names)
    elif isinstance(y, np.ndarray) and y.dtype != object:
        arrays["y"] = y
    elif y is not None:
        return None
    return arrays, notes


def shard_of(arrays: Arrays, notes: dict[str, Any]) -> Shard:
    """The shard that arrays_of gave these of."""
    x: Any
    if "dense" in arrays:
        x = DenseRows(arrays["dense"])
    else:
        entries = arrays["values"], arrays["columns"], arrays["starts"]
        checks.whole("n_columns", notes["n_columns"])
        checks.within("columns", entries[1], 0, notes["n_columns"], entries[0].size)
        checks.starts("starts", entries[2], entries[1].size)
        x = SparseRows(*entries, notes["n_columns"], notes["zero_based"])
    if "sequences" in arrays:
        checks.starts("sequences", arrays["sequences"], x.n_rows)
        x = SequenceRows(x, arrays["sequences"], _names("names", arrays))
    y: Any = arrays.get("y")
    if "tags" in arrays:
        names = _names("tag", arrays)
        assert names is not None
        checks.within("tags", arrays["tags"], 0, names.size)
        checks.starts("tag_starts", arrays["tag_starts"], arrays["tags"].size)
        y = TagRows(Ragged(arrays["tags"], arrays["tag_starts"]), names)
    columns = notes.get("columns")
    if columns is not None:
        columns = tuple(map(str, columns))
        checks.whole("columns", len(columns), least=x.n_columns)
    return Shard(x, y, arrays.get("weight"), source=notes["source"], columns=columns)


def _sparse(rows: SparseRows, notes: dict[str, Any]) -> Arrays:
    notes |= {"n_columns": rows.n_columns, "zero_based": rows.zero_based}
    return dict(zip(("values", "columns", "starts"), rows.arrays(), strict=True))


def _texts(name: str, texts: np.ndarray) -> Arrays:
    raw = [str(text).encode("utf-8", "surrogatepass") for text in texts.tolist()]
    lengths = np.fromiter(map(len, raw), np.int64, len(raw))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(raw), np.uint8),
        f"{name}_ends": offsets(lengths),
    }


def _names(name: str, arrays: Arrays) -> np.ndarray | None:
    if f"{name}_bytes" not in arrays:
        return None
    raw, ends = arrays[f"{name}_bytes"].tobytes(), arrays[f"{name}_ends"].tolist()
    names = np.empty(len(ends) - 1, dtype=object)
    names[:] = [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(ends)]
    return names
