"""Parquet and Arrow files, cut into shards by rows and read by the workers."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from distsvm.data.dataset import Dataset, Unlabelled
from distsvm.data.features import DenseRows, SparseRows
from distsvm.data.files import Paths, file_bytes, find_files
from distsvm.data.partition import default_n_shards, partition
from distsvm.data.readers.columns import Column, row_place
from distsvm.data.readers.growing import GrowingRows
from distsvm.data.readers.layout import COLUMNS, LISTS, SPARSE, VALUES, Layout
from distsvm.data.readers.lines import Part
from distsvm.data.readers.pieces import rows_of_piece
from distsvm.data.readers.tables import Table, opened_table, pyarrow
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import whole
from distsvm.wording import Setting, message

logger = logging.getLogger(__name__)

BATCH_VALUES = 1 << 19  # read at a time, so that memory stays near the size of the matrix
UNKNOWN_WIDTH = 64
COPIES = 2.0  # of a piece: its Arrow columns and its arrays
COPIES_OF_VALUES = 10.0  # Python objects are large
MEGABYTE = 2**20
ARROW_MB = 48.0  # of pyarrow itself, as measured
GROUP_COPIES = 3.0  # of a group of rows, as measured

Names: TypeAlias = "tuple[str | None, str | None, str | None, tuple[str, ...] | None]"
"""The columns of labels, of all features and of weights, and the features one by one."""
LookedAt: TypeAlias = "tuple[str, Any, list[Group], Callable[[str], int | None]]"
"""A table's path, schema, groups that have rows, and the width of its lists by column."""


class ParquetData:
    """Examples in Parquet or Arrow (IPC, Feather version 2) files, one a row.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
    label : str or None
        The column of labels: integers, floats, strings or booleans. None for prediction.
    features : str, optional
        One column with all features: a list of numbers a row, all of one length, or a struct
        with the lists `indices` (increasing, from 0) and `values`. Default: the column
        "features", if there is one of such a type.
    weight : str, optional
        The column of example weights.
    columns : list of str, optional
        The columns of numbers that are the features. Default, without a column of all features:
        every column of numbers or booleans except label and weight, in the first file's order.

    Notes
    -----
    Columns are found by name, and have the same types in all files. Features are float32 if all
    their columns are, otherwise float64; missing values and NaN are refused.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        label: str | None = "label",
        features: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        pyarrow()
        self.paths = find_files(paths)
        self.names = checked_names(label, features, weight, columns)

    @property
    def source(self) -> str:
        """The name of the data in messages."""
        return ", ".join(self.paths)

    @property
    def n_bytes(self) -> int | None:
        return sum(file_bytes(path) for path in self.paths)

    def unlabelled(self) -> Dataset:
        """Return the same data without its labels; the column of labels may be missing."""
        if self.names[0] in self._column_names():
            return Unlabelled(self)  # with its name, so that it is no column of features
        return without_label(self)

    def _column_names(self) -> list[str]:
        with opened_table(self.paths[0]) as table:
            return table.schema.names

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[Any]:
        """Return how to load each of n_shards shards of about equal rows.

        Shards are runs of whole row groups (of record batches in Arrow files); only a group that is
        larger than a shard is cut.
        """
        layout, groups = self._look(self._tables())
        return [ParquetSpec(run, layout) for run in cut_groups(groups, n_shards)]

    def _tables(self) -> Iterator[LookedAt]:
        for path in self.paths:
            with opened_table(path) as table:
                sizes = zip(table.group_rows, table.group_bytes, strict=True)
                groups, first = [], 0
                for number, (n_rows, n_bytes) in enumerate(sizes):
                    if n_rows:
                        groups.append(Group(path, number, first, first, first + n_rows, n_bytes))
                    first += n_rows
                yield path, table.schema, groups, lambda name: groups[0].width(table, name)  # noqa: B023

    def _look(self, tables: Iterable[LookedAt]) -> tuple[Layout, list[Group]]:
        """Return the layout of all tables, which must be one, and their groups of rows."""
        layout: Layout | None = None
        all_groups: list[Group] = []
        for path, schema, groups, width in tables:
            its_layout = self._layout(path, schema)
            layout = layout or its_layout
            layout.check_same(its_layout)
            if groups and layout.form == LISTS and layout.width is None:
                layout = replace(layout, width=width(layout.features[0]))
            all_groups += groups
        if layout is None or not all_groups:
            raise DataError(f"{self.source}: there are no rows")
        return layout, all_groups

    def _layout(self, path: str, schema: Any) -> Layout:
        return Layout.of(path, schema, *self.names)


class ValueColumns:
    """A reader of columns of values, mixed into the reader of rows of features that it changes.

    Parameters
    ----------
    source : paths, or a ray.data.Dataset
    label : str or None, default "y"
        The column of outputs. None for prediction.
    features : str, default "x"
        The column of inputs.
    weight : str, optional
        The column of example weights. Default: "weight", if there is one.

    Notes
    -----
    Inputs and outputs are as in JSONL (see JsonlData): lists are lists, structs and maps are dicts
    (without a struct's missing fields). Missing values, and numbers that are not finite, are
    refused with file, row and column. Other columns are not read.
    """

    names: Names

    def __init__(
        self,
        source: Any,
        *,
        label: str | None = "y",
        features: str = "x",
        weight: str | None = None,
    ) -> None:
        super().__init__(source, label=label, features=features, weight=weight)  # type: ignore[call-arg]

    def unlabelled(self) -> Any:
        return without_label(self)

    def _layout(self, path: str, schema: Any) -> Layout:
        label, features, weight, _ = self.names
        assert features is not None
        return Layout.of_values(path, schema, label, features, weight)


class ParquetValues(ValueColumns, ParquetData):
    """Examples in Parquet or Arrow files; the inputs are no rows of features."""


@dataclass(frozen=True)
class Group:
    """The rows start … stop − 1 of a file; all are in one group, which begins at row `first`.

    `n_bytes` is the size of the whole group, which has to be read for any of its rows.
    """

    path: str
    number: int
    first: int
    start: int
    stop: int
    n_bytes: int = 0

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    def cut(self, n_parts: int) -> list[Group]:
        edges = [self.start + self.n_rows * i // n_parts for i in range(n_parts + 1)]
        return [replace(self, start=a, stop=b) for a, b in pairwise(edges)]

    def batches(
        self, table: Table, columns: Sequence[str], n_rows: int
    ) -> Iterator[dict[str, Column]]:
        """Yield the rows in order, at most n_rows at a time, as columns by name."""
        at = self.first
        for batch in table.batches(self.number, columns, n_rows):
            start, stop = max(self.start, at), min(self.stop, at + batch.num_rows)
            if start < stop:
                part = batch.slice(start - at, stop - start)
                yield {name: Column(self.path, name, start, part.column(name)) for name in columns}
            at += batch.num_rows
            if at >= self.stop:
                break

    def width(self, table: Table, name: str) -> int:
        """Return the length of the first row's list."""
        column = next(self.batches(table, [name], 1))[name]
        return int(column.lengths(column.array)[0])


@dataclass(frozen=True)
class ParquetSpec:
    """The groups of rows that make up one shard."""

    groups: tuple[Group, ...]
    layout: Layout

    @property
    def reading_mb(self) -> float:
        """The memory of reading beside the examples: pyarrow, and one decompressed group."""
        largest = max(group.n_bytes for group in self.groups)
        return ARROW_MB + GROUP_COPIES * largest / MEGABYTE

    def seen_columns(self) -> int | None:
        return self.layout.width

    def joined(self, others: Sequence[ParquetSpec]) -> ParquetSpec:
        return replace(self, groups=sum((spec.groups for spec in others), self.groups))

    def locate(self, row: int) -> str | None:
        for group in self.groups:
            if row < group.n_rows:
                return row_place(group.path, group.start + row)
            row -= group.n_rows
        return None

    def load(self) -> Shard:
        return self.read(self._batches)

    def read(self, batches: Callable[[int], Iterator[dict[str, Column]]]) -> Shard:
        """Return the shard of these batches; `batches` takes the number of rows of each."""
        return (self._values if self.layout.form == VALUES else self._table)(batches)

    def _values(self, batches: Callable[[int], Iterator[dict[str, Column]]]) -> Shard:
        layout = self.layout
        inputs: list[Any] = []
        outputs: list[Any] = []
        weights = []
        for batch in batches(BATCH_VALUES // UNKNOWN_WIDTH):
            inputs += batch[layout.features[0]].values()
            if layout.label is not None:
                outputs += batch[layout.label].values()
            if layout.weight is not None:
                weights.append(batch[layout.weight].weights())
        self._check_all(len(inputs))
        return Shard(
            inputs,
            None if layout.label is None else outputs,
            np.concatenate(weights) if weights else None,
            source=self.source,
        )

    def _table(self, batches: Callable[[int], Iterator[dict[str, Column]]]) -> Shard:
        layout = self.layout
        n_rows = self.n_rows
        n_columns = layout.width or 0
        matrix = np.empty((n_rows, n_columns), dtype=layout.dtype)
        rows = GrowingRows(np.dtype(layout.dtype))
        labels, weights = [], []
        at = 0
        for batch in batches(max(1, BATCH_VALUES // (n_columns or UNKNOWN_WIDTH))):
            first = batch[layout.features[0]]
            stop = at + len(first.array)
            if layout.form == SPARSE:
                rows.extend(*first.entries(), share=stop / n_rows)
            elif layout.form == LISTS:
                matrix[at:stop] = first.table(n_columns)
            else:
                for j, name in enumerate(layout.features):
                    matrix[at:stop, j] = batch[name].numbers()
            if layout.label is not None:
                labels.append(batch[layout.label].labels())
            if layout.weight is not None:
                weights.append(batch[layout.weight].weights())
            at = stop
        self._check_all(at)
        return Shard(
            SparseRows(*rows.finish()) if layout.form == SPARSE else DenseRows(matrix),
            np.concatenate(labels) if labels else None,
            np.concatenate(weights) if weights else None,
            source=self.source,
            columns=layout.features if layout.form == COLUMNS else None,
        )

    def _check_all(self, n_read: int) -> None:
        if n_read < self.n_rows:
            raise DataError(f"{self.source}: the file changed after it was cut into shards")

    @property
    def n_rows(self) -> int:
        return sum(group.n_rows for group in self.groups)

    @property
    def in_arrays(self) -> bool:
        return self.layout.form != VALUES

    @property
    def parts(self) -> tuple[Part, ...]:
        """The rows of each file, as parts."""
        runs = [list(run) for _, run in groupby(self.groups, lambda group: group.path)]
        return tuple(Part(run[0].path, run[0].start, run[-1].stop) for run in runs)

    def pieces(self, n_bytes: float) -> list[ParquetSpec]:
        """Return the same examples in order, in specs of about n_bytes of memory each."""
        layout = self.layout
        if layout.width is not None:
            row_bytes = float(layout.width * np.dtype(layout.dtype).itemsize)
        else:
            with opened_table(self.groups[0].path) as table:
                row_bytes = sum(table.group_bytes) / sum(table.group_rows)
        copies = COPIES if self.in_arrays else COPIES_OF_VALUES
        size = rows_of_piece(n_bytes, copies * row_bytes)
        return [
            replace(self, groups=_rows_of(self.groups, start, start + size))
            for start in range(0, self.n_rows, size)
        ]

    @property
    def source(self) -> str:
        first, last = self.groups[0], self.groups[-1]
        if first.path == last.path:
            return f"{first.path}, rows {first.start} to {last.stop}"
        return f"{first.path}, from row {first.start}, to {last.path}, row {last.stop}"

    def _batches(self, n_rows: int) -> Iterator[dict[str, Column]]:
        for path, groups in groupby(self.groups, lambda group: group.path):
            with opened_table(path) as table:
                for group in groups:
                    yield from group.batches(table, self.layout.columns, n_rows)


def without_label(data: Any) -> Any:
    """Return a copy of the data that reads no column of labels."""
    new = copy.copy(data)
    new.names = (None, *data.names[1:])
    return new


def checked_names(
    label: str | None, features: str | None, weight: str | None, columns: Sequence[str] | None
) -> Names:
    """Return these names of columns, checked, as Layout.of takes them."""
    if features is not None and columns is not None:
        raise ConfigError("features and columns are both given, expected one of them")
    if isinstance(columns, str) or (columns is not None and not columns):
        raise ConfigError("columns", columns, "a list of column names")
    return label, features, weight, None if columns is None else tuple(columns)


def cut_groups(groups: Sequence[Group], n_shards: int | None) -> list[tuple[Group, ...]]:
    """Return the groups of each of n_shards shards of about equal rows, none of them empty."""
    if n_shards is not None and n_shards < 1:
        raise ConfigError("n_shards", n_shards, whole(least=1).expected)
    n_rows = sum(group.n_rows for group in groups)
    if n_shards is not None and n_shards > n_rows:
        asked = Setting("n_shards", n_shards)
        logger.warning(message("{}: the data can be cut into {} at most", asked, n_rows))
    n_parts = min(n_shards or default_n_shards(n_rows), n_rows)
    units = [part for group in groups for part in group.cut(ceil(group.n_rows * n_parts / n_rows))]
    costs = np.array([unit.n_rows for unit in units], dtype=np.float64)
    return [tuple(units[run.start : run.stop]) for run in partition(costs, n_parts)]


def _rows_of(groups: Sequence[Group], start: int, stop: int) -> tuple[Group, ...]:
    """Return the rows start … stop − 1 of all rows of these groups."""
    found, at = [], 0
    for group in groups:
        first, last = max(start, at), min(stop, at + group.n_rows)
        if first < last:
            found.append(
                replace(group, start=group.start + first - at, stop=group.start + last - at)
            )
        at += group.n_rows
    return tuple(found)
