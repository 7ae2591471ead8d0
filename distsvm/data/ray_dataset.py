"""A Ray Dataset as input: its blocks stay in Ray's store, and workers fetch the rows they own.

Shards are cut by rows. Equal blocks in equal order give equal shards, and none is empty (Ray's own
split may give empty ones). A worker is a Ray worker, or runs in the process of the dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from distsvm.data.readers.columns import Column
from distsvm.data.readers.parquet import (
    Group,
    LookedAt,
    ParquetData,
    ParquetSpec,
    ValueColumns,
    checked_names,
    cut_groups,
)
from distsvm.data.readers.tables import pyarrow
from distsvm.data.shard import Shard
from distsvm.errors import DataError

SOURCE = "the Ray Dataset"


class RayData(ParquetData):
    """Examples in a ray.data.Dataset, one a row; its columns are found as in ParquetData.

    Parameters
    ----------
    dataset : ray.data.Dataset
        It is run once, when shards are cut; its blocks stay in Ray's store.
    label, features, weight, columns
        As in ParquetData. A column of one-dimensional tensors can be the features.
    """

    n_bytes: int | None = None
    source = SOURCE

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

    def _column_names(self) -> list[str]:
        return self.dataset.columns()

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[RaySpec]:
        tables: list[LookedAt] = []
        blocks = {}
        for number, (block, n_rows, schema, widths) in enumerate(self._blocks()):
            if n_rows:
                name = f"{SOURCE}, block {number}"
                blocks[name] = block
                tables.append((name, schema, [Group(name, 0, 0, 0, n_rows)], widths.get))
        layout, groups = self._look(tables)
        return [
            RaySpec(ParquetSpec(run, layout), {group.path: blocks[group.path] for group in run})
            for run in cut_groups(groups, n_shards)
        ]

    def _blocks(self) -> list[tuple[Any, int, Any, dict[str, int]]]:
        """Return every block's reference and its _facts, in the order of the rows."""
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
    """Examples in a ray.data.Dataset; the inputs are no rows of features."""


@dataclass(frozen=True, eq=False)
class RaySpec:
    """The rows of one shard, with the references of their blocks."""

    spec: ParquetSpec
    blocks: dict[str, Any]

    def seen_columns(self) -> int | None:
        return self.spec.seen_columns()

    def locate(self, row: int) -> str | None:
        return self.spec.locate(row)

    def joined(self, others: Sequence[RaySpec]) -> RaySpec:
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
    """Return a block's number of rows, its schema, and the lengths of the first row's lists."""
    table = _plain(block)
    first = table.slice(0, 1).to_pylist()
    widths = {name: len(x) for row in first for name, x in row.items() if isinstance(x, list)}
    return table.num_rows, table.schema, widths


def _plain(table: Any) -> Any:
    """Return the table with tensors as the lists that store them."""
    arrow = pyarrow()
    for place, field in enumerate(table.schema):
        if isinstance(field.type, arrow.BaseExtensionType):
            chunks = [chunk.storage for chunk in table.column(place).chunks]
            column = arrow.chunked_array(chunks, field.type.storage_type)
            table = table.set_column(place, field.name, column)
    return table
