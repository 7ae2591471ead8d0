"""JSONL files: one example a line, as a JSON object with x, y and perhaps weight."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.data.files import Paths, find_files, line_number
from distsvm.data.readers.growing import GrowingRows
from distsvm.data.readers.lines import Part, cut_files, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import texts
from distsvm.data.shard import Shard
from distsvm.errors import DataError

KEYS = {"x", "y", "weight"}
EXACT = 1 << 53  # floats represent smaller whole numbers exactly


class JsonlData:
    """Examples in JSONL files: `{"x": …, "y": …, "weight": …}`, one a line.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    tables : bool
        Whether x is a row of features: a list of numbers, of one length in all lines, or an object
        of columns, which count from 0, and their values, such as {"0": 1.5, "7": 2}; and y a label:
        a string, a number, true or false, or a list of the names of its levels, which becomes the
        path "comp/graphics". Otherwise both are any JSON: for sequences a list of
        tokens, each a list of names or an object of names and values, and a list of tags.
    labelled : bool
        False reads lines for prediction: y may be missing and is ignored.

    Notes
    -----
    The weight is a number ≥ 0, by default 1. Blank lines are no examples. Other lines, other keys,
    and numbers that are not finite are refused with file and line.
    """

    def __init__(self, paths: Paths, *, tables: bool = False, labelled: bool = True) -> None:
        self.paths, self.tables, self.labelled = find_files(paths), tables, labelled

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> JsonlData:
        return JsonlData(self.paths, tables=self.tables, labelled=False)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[JsonlSpec]:
        runs = cut_files(self.paths, n_shards)
        return [JsonlSpec(run, self.tables, self.labelled) for run in runs]


@dataclass(frozen=True)
class JsonlSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]
    tables: bool = False
    labelled: bool = True

    @property
    def in_arrays(self) -> bool:
        return self.tables

    @property
    def growth(self) -> float:
        return 3.0 if self.tables else 10.0  # Python objects are large

    def load(self) -> Shard:
        inputs, outputs, weights = [], [], []
        table = _Table() if self.tables else None
        for part in self.parts:
            for line in _lines(part):
                example = line.example(self.labelled)
                weights.append(line.weight(example.get("weight", 1.0)))
                if table is None:
                    inputs.append(example["x"])
                else:
                    table.add(line, example["x"])
                if self.labelled:
                    y = example["y"]
                    outputs.append(y if table is None else table.label(line, y))
        weighted = any(weight != 1.0 for weight in weights)
        x: Any = inputs if table is None else table.rows()
        labels: Any = outputs if table is None else np.array(outputs)
        return Shard(
            x,
            labels if self.labelled else None,
            np.array(weights) if weighted else None,
            source=described(self.parts),
        )


@dataclass(frozen=True)
class _Line:
    """A line of a file, with its place for errors."""

    path: str
    offset: int
    number: int
    text: bytes

    def example(self, labelled: bool) -> dict[str, Any]:
        try:
            found = json.loads(self.text, parse_constant=self._not_finite)
        except (ValueError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            self.refuse(self.text.decode(), f"a JSON object ({error})")
        if not isinstance(found, dict):
            self.refuse(found, 'a JSON object {"x": …, "y": …}')
        needed = ["x", "y"] if labelled else ["x"]
        for key in [*(key for key in needed if key not in found), *(found.keys() - KEYS)]:
            if key in KEYS:
                self.refuse(found, f"a value for {key!r}")
            self.refuse(key, "no other keys than x, y and weight")
        return found

    def weight(self, value: Any) -> float:
        expected = "a weight, which is a finite number ≥ 0"
        weight = _number(self, value, expected)
        if weight < 0:
            self.refuse(value, expected)
        return weight

    def refuse(self, found: Any, expected: str) -> NoReturn:
        shown = found if isinstance(found, str) else json.dumps(found)
        shown = shown if len(shown) < 60 else f"{shown[:59]}…"
        line = line_number(self.path, self.offset) + self.number
        raise DataError(f"{self.path}, line {line}: found {shown!r}, expected {expected}")

    def _not_finite(self, name: str) -> NoReturn:
        self.refuse(name, "finite numbers")


def _lines(part: Part) -> Iterator[_Line]:
    for offset, text in texts(part):
        for number, line in enumerate(text.split(b"\n")):
            if line.strip():
                yield _Line(part.path, offset, number, line)


class _Table:
    """Rows of features, all lists or all objects, and labels of one kind."""

    def __init__(self) -> None:
        self._form: type | None = None
        self._kind: type | None = None
        self._dense: list[list[float]] = []
        self._columns: list[int] = []
        self._values: list[float] = []
        self._lengths: list[int] = []

    def add(self, line: _Line, x: Any) -> None:
        if not isinstance(x, (list, dict)) or type(x) is not (self._form or type(x)):
            self._form = self._form or list
            kind = "a list of numbers" if self._form is list else "an object of columns and values"
            line.refuse(x, f"{kind} for x, as in all lines")
        self._form = type(x)
        if isinstance(x, list):
            if self._dense and len(x) != len(self._dense[0]):
                line.refuse(x, f"{len(self._dense[0])} numbers for x, as in the lines before")
            self._dense.append([_number(line, value) for value in x])
            return
        row = sorted((_column(line, name), _number(line, value)) for name, value in x.items())
        self._columns += [column for column, _ in row]
        self._values += [value for _, value in row]
        self._lengths.append(len(row))

    def label(self, line: _Line, y: Any) -> Any:
        if isinstance(y, list):
            y = _path(line, y)
        kind = float if type(y) is int and abs(y) < EXACT else type(y)
        if kind not in (float, str, bool) or kind is not (self._kind or kind):
            line.refuse(y, "a label (a text, a number, true or false) of one kind in all lines")
        self._kind = kind
        return y

    def rows(self) -> Rows:
        if self._form is not dict:
            return DenseRows(np.array(self._dense, dtype=np.float64))
        rows = GrowingRows(np.float64)
        columns, values = np.array(self._columns, np.int64), np.array(self._values)
        rows.extend(np.array(self._lengths), columns, values, 1.0)
        return SparseRows(*rows.finish())


def _path(line: _Line, names: list[Any]) -> str:
    """Return the path of the names of a label's levels, as comp/graphics."""
    if not names or not all(isinstance(name, str) and name and "/" not in name for name in names):
        line.refuse(names, "a label, or a list of the names of its levels, which are texts")
    return "/".join(names)


def _number(line: _Line, value: Any, expected: str = "a finite number for a feature") -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        line.refuse(value, expected)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):  # JSON's 1e400 is one of them
        line.refuse(str(value), f"{expected} that fits into 64 bits")
    return number


def _column(line: _Line, name: str) -> int:
    if not (name.isascii() and name.isdigit()) or len(name) > 15:
        line.refuse(name, "the number of a column, from 0, as the name of a feature")
    return int(name)
