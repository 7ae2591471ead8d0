"""A Ray Dataset as input: its blocks stay in Ray's store, and workers fetch the rows they own.

Shards are cut by rows, the same for the same blocks in the same order, and none is empty (Ray's own
split may give empty ones). A worker must be one of Ray's, or in the process of the dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from distsvm.data.dataset import Dataset, Unlabelled
from distsvm.data.readers.columns import Column
from distsvm.data.readers.layout import LISTS, Layout
from distsvm.data.readers.parquet import (
    Group,
    ParquetSpec,
    ValueColumns,
    checked_names,
    cut_groups,
)
from distsvm.data.readers.tables import pyarrow
from distsvm.data.shard import Shard
from distsvm.errors import DataError

SOURCE = "the Ray Dataset"


class RayData:
    """Examples in a ray.data.Dataset, one a row; its columns are found as in ParquetData.

    Parameters
    ----------
    dataset : ray.data.Dataset
        It is run once, when shards are cut, and its blocks stay where Ray keeps them.
    label, features, weight, columns
        As in ParquetData. A column of tensors of one dimension will do for features.
    """

    n_bytes: int | None = None

    def __init__(
        self,
        dataset: Any,
        *,
        label: str | None = "label",
        features: str | None = None,
        weight: str | None = None,
        columns: Any = None,
    ) -> None:
        self.dataset = dataset
        self.names = checked_names(label, features, weight, columns)

    def unlabelled(self) -> Dataset:
        """The same data without its labels, whether or not there is such a column."""
        label, features, weight, columns = self.names
        if label in self.dataset.columns():
            return Unlabelled(self)  # it must be known to be told from the features
        return RayData(self.dataset, label=None, features=features, weight=weight, columns=columns)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[RaySpec]:
        """How to load each of n_shards shards of about equal rows, none of them empty."""
        layout: Layout | None = None
        groups, blocks = [], {}
        for number, (block, n_rows, schema, widths) in enumerate(self._blocks()):
            if not n_rows:
                continue
            name = f"{SOURCE}, block {number}"
            its_layout = self._layout(name, schema)
            if layout is None:
                layout = its_layout
                if layout.form == LISTS and layout.width is None:
                    layout = replace(layout, width=widths.get(layout.features[0]))
            layout.check_same(its_layout)
            groups.append(Group(name, 0, 0, 0, n_rows))
            blocks[name] = block
        runs = cut_groups(groups, n_shards, SOURCE)
        assert layout is not None
        return [
            RaySpec(ParquetSpec(run, layout), {group.path: blocks[group.path] for group in run})
            for run in runs
        ]

    def _layout(self, path: str, schema: Any) -> Layout:
        return Layout.of(path, schema, *self.names)

    def _blocks(self) -> list[tuple[Any, int, Any, dict[str, int]]]:
        """Every block's reference and what it says of itself, in the order of the rows."""
        import ray

        options = self.dataset.context.execution_options
        before, options.preserve_order = options.preserve_order, True
        try:
            blocks = self.dataset.to_arrow_refs()
        finally:
            options.preserve_order = before
        facts = ray.get([ray.remote(_facts).remote(block) for block in blocks])
        return [(block, *its) for block, its in zip(blocks, facts, strict=True)]


class RayValues(ValueColumns, RayData):
    """Examples in a ray.data.Dataset whose inputs are no rows of features."""


@dataclass(frozen=True, eq=False)
class RaySpec:
    """The rows of blocks that make up one shard, and the references of the blocks."""

    spec: ParquetSpec
    blocks: dict[str, Any]

    def seen_columns(self) -> int | None:
        return self.spec.seen_columns()

    def locate(self, row: int) -> str | None:
        return self.spec.locate(row)

    def joined(self, others: Sequence[RaySpec]) -> RaySpec:
        """One spec of these rows and those of the others."""
        blocks = {name: block for spec in (self, *others) for name, block in spec.blocks.items()}
        return RaySpec(self.spec.joined([other.spec for other in others]), blocks)

    def load(self) -> Shard:
        return self.spec.read(self._batches)

    def _batches(self, n_rows: int) -> Iterator[dict[str, Column]]:
        import ray

        if not ray.is_initialized():
            raise DataError(
                f"{SOURCE} cannot be reached from this process: executors ray, serial and threads "
                "can read it, processes cannot"
            )
        names = self.spec.layout.columns
        for group in self.spec.groups:
            table = _plain(ray.get(self.blocks[group.path]))
            rows = table.slice(group.start, group.n_rows)
            at = group.start
            for batch in rows.combine_chunks().to_batches(n_rows):
                yield {name: Column(group.path, name, at, batch.column(name)) for name in names}
                at += batch.num_rows


def _facts(block: Any) -> tuple[int, Any, dict[str, int]]:
    """A block's rows, its schema, and how long the lists in its first row are."""
    table = _plain(block)
    first = table.slice(0, 1).to_pylist()
    widths = {name: len(x) for row in first for name, x in row.items() if isinstance(x, list)}
    return table.num_rows, table.schema, widths


def _plain(table: Any) -> Any:
    """The table with tensors as the lists that they are kept in."""
    arrow = pyarrow()
    for place, field in enumerate(table.schema):
        if isinstance(field.type, arrow.BaseExtensionType):
            chunks = [chunk.storage for chunk in table.column(place).chunks]
            column = arrow.chunked_array(chunks, field.type.storage_type)
            table = table.set_column(place, field.name, column)
    return table
