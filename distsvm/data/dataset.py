"""A data set: whatever can be cut into shards that its workers load themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from distsvm.data.features import Rows, SparseRows, as_rows
from distsvm.data.partition import default_n_shards, default_n_shards_of_table, partition
from distsvm.data.shard import Locate, Shard, ShardSpec, joined
from distsvm.errors import ConfigError, DataError


class Dataset(Protocol):
    """Data that can be cut into shards without being read by the driver.

    `n_bytes` is the size of its files, None for data that is in memory already.
    """

    @property
    def n_bytes(self) -> int | None: ...

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> Sequence[ShardSpec]:
        """How to load each shard; `cost(x)` of one input balances shards where it is given."""


@dataclass(frozen=True, eq=False)
class LoadedShard:
    """A shard that is already in memory; when it is sent, only its own part travels."""

    shard: Shard

    def load(self) -> Shard:
        return self.shard

    def seen_columns(self) -> int | None:
        return getattr(self.shard.x, "n_columns", None)

    def joined(self, others: Sequence[LoadedShard]) -> LoadedShard:
        """One spec of a copy of these examples and those of the others."""
        return LoadedShard(joined([self.shard, *(other.shard for other in others)]))

    def __reduce__(self) -> tuple[Any, ...]:
        x = self.shard.x
        shard = replace(self.shard, x=x.alone()) if isinstance(x, SparseRows) else self.shard
        return (LoadedShard, (shard,))


class TableData:
    """Rows of features with labels, in memory.

    Parameters
    ----------
    X : NumPy array of shape (n, d) or SciPy sparse matrix
    y : array of shape (n,), or None for prediction
    weight : array of shape (n,), optional
    columns : list of str, optional
        The names of the features; by default those of a data frame, if all are texts.
    """

    n_bytes: int | None = None

    def __init__(self, X: Any, y: Any = None, weight: Any = None, columns: Any = None) -> None:
        self.x: Rows = as_rows(X)
        columns = getattr(X, "columns", ()) if columns is None else columns
        are_names = len(columns) == self.x.n_columns and all(isinstance(c, str) for c in columns)
        self.columns = tuple(map(str, columns)) if are_names else None
        self.y = None if y is None else np.asarray(y)
        self.weight = checked_weights(weight, self.x.n_rows)
        if self.y is not None and self.y.shape != (self.x.n_rows,):
            raise DataError(
                f"y has shape {self.y.shape}, expected ({self.x.n_rows},) as X has rows"
            )

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> list[ShardSpec]:
        return [
            LoadedShard(
                Shard(
                    self.x.rows(part.start, part.stop),
                    None if self.y is None else self.y[part.start : part.stop],
                    None if self.weight is None else self.weight[part.start : part.stop],
                    first=part.start,
                    columns=self.columns,
                )
            )
            for part in cut_table(self.x, n_shards)
        ]


def as_table(rows: Sequence[Any]) -> np.ndarray:
    """A list of rows of numbers as an array; refused unless all rows are as long."""
    try:
        return np.asarray(list(rows))
    except ValueError as error:
        raise DataError(
            "the rows of features are not equally long; give an array or a sparse matrix"
        ) from error


class PairData:
    """A list of inputs and a list of outputs, for tasks written in Python.

    Parameters
    ----------
    inputs : sequence of anything picklable
    outputs : sequence of the same length, or None for prediction
    weight : array of shape (n,), optional
    """

    n_bytes: int | None = None

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None, weight: Any = None
    ) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.weight = checked_weights(weight, len(inputs))
        if outputs is not None and len(outputs) != len(inputs):
            raise DataError(f"{len(outputs)} outputs for {len(inputs)} inputs")

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> list[ShardSpec]:
        costs = np.ones(len(self.inputs))
        if cost is not None:
            costs = np.maximum(1e-12, [float(cost(x)) for x in self.inputs])
        return [
            LoadedShard(
                Shard(
                    self.inputs[part.start : part.stop],
                    None if self.outputs is None else self.outputs[part.start : part.stop],
                    None if self.weight is None else self.weight[part.start : part.stop],
                    first=part.start,
                )
            )
            for part in cut(costs, n_shards)
        ]


@dataclass(frozen=True)
class Unlabelled:
    """A data set whose outputs nobody should look at, as they may be anything."""

    dataset: Dataset

    @property
    def n_bytes(self) -> int | None:
        return self.dataset.n_bytes

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> list[ShardSpec]:
        return [UnlabelledSpec(spec) for spec in self.dataset.specs(n_shards, cost)]


@dataclass(frozen=True)
class UnlabelledSpec:
    """How to load a shard without its outputs."""

    spec: ShardSpec

    def load(self) -> Shard:
        return replace(self.spec.load(), y=None)

    @property
    def parts(self) -> Any:
        """The parts of files that it reads, if it does."""
        return getattr(self.spec, "parts", ())

    @property
    def locate(self) -> Locate | None:
        return getattr(self.spec, "locate", None)


def cut_table(x: Rows, n_shards: int | None) -> list[range]:
    """As `cut`, for rows of features, of which small tables have fewer shards."""
    costs = x.costs()
    if n_shards is None:
        n_values, n_columns = float(costs.sum()), x.n_columns
        n_shards = default_n_shards_of_table(costs.size, n_values, n_columns)
    return cut(costs, n_shards)


def cut(costs: np.ndarray, n_shards: int | None) -> list[range]:
    """The ranges of n_shards shards (the default number unless given) over these examples."""
    n = costs.size
    if n == 0:
        raise DataError("the data has no examples")
    if n_shards is None:
        n_shards = default_n_shards(n)
    if not 1 <= n_shards <= n:
        raise ConfigError(f"n_shards={n_shards}: expected 1 to {n}, the number of examples")
    return partition(costs, n_shards)


def checked_weights(weight: Any, n: int) -> np.ndarray | None:
    """Example weights as float64, refused unless there is one a row, finite, ≥ 0, not all 0."""
    if weight is None:
        return None
    try:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are not numbers: {error}") from error
    if weight.shape != (n,):
        raise DataError(f"weights have shape {weight.shape}, expected ({n},)")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise DataError(f"the weight of example {bad[0]} is {weight[bad[0]]}, expected ≥ 0")
    if not weight.any():
        raise DataError("all example weights are 0")
    if weight.max() > np.finfo(np.float64).max / n:
        raise DataError("the sum of the example weights is too large for 64-bit numbers")
    return weight
