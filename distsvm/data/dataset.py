"""Data sets: examples that are cut into shards, which workers load themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from distsvm.data.features import DenseRows, SparseRows, as_rows
from distsvm.data.partition import default_n_shards, default_n_shards_of_table, partition
from distsvm.data.shard import Locate, Shard, ShardSpec, joined
from distsvm.errors import ConfigError, DataError


class Dataset(Protocol):
    """Data that the driver cuts into shards without reading it.

    `n_bytes` is the size of its files, None for data in memory. The optional `unlabelled()` returns
    the same data without outputs, for prediction; files may then lack them.
    """

    @property
    def n_bytes(self) -> int | None: ...

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> Sequence[ShardSpec]:
        """Return how to load each of n_shards shards of about equal work, none of them empty.

        The work is the sum of `cost(x)` over inputs, where it is given, or the bytes of files.
        """


@dataclass(frozen=True, eq=False)
class LoadedShard:
    """A shard that is already in memory; pickling it copies its own rows only."""

    shard: Shard

    def load(self) -> Shard:
        return self.shard

    def seen_columns(self) -> int | None:
        return getattr(self.shard.x, "n_columns", None)

    def joined(self, others: Sequence[LoadedShard]) -> LoadedShard:
        return LoadedShard(joined([self.shard, *(other.shard for other in others)]))

    def __reduce__(self) -> tuple[Any, ...]:
        x = self.shard.x
        shard = replace(self.shard, x=x.alone()) if isinstance(x, SparseRows) else self.shard
        return (LoadedShard, (shard,))


class InMemory:
    """The examples of one shard in memory, cut into shards that share its arrays."""

    n_bytes: int | None = None
    uses_cost = False

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    @property
    def held_bytes(self) -> int | None:
        """The memory of the inputs, where they are arrays."""
        return getattr(self.shard.x, "nbytes", None)

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> list[ShardSpec]:
        x = self.shard.x
        if isinstance(x, (DenseRows, SparseRows)):
            costs = x.costs()
            if n_shards is None:
                n_shards = default_n_shards_of_table(costs.size, float(costs.sum()), x.n_columns)
        elif cost is None or not self.uses_cost:
            costs = np.ones(self.shard.n)
        else:
            costs = np.maximum(1e-12, [float(cost(one)) for one in x])
        return [LoadedShard(self.shard.slice(rows)) for rows in cut(costs, n_shards)]


class TableData(InMemory):
    """Rows of features with labels, in memory.

    Parameters
    ----------
    X : NumPy array of shape (n, d) or SciPy sparse matrix
    y : array of shape (n,), or None for prediction
    weight : array of shape (n,), optional
    columns : list of str, optional
        The names of the features. Default: those of a data frame, if all are strings.
    """

    def __init__(self, X: Any, y: Any = None, weight: Any = None, columns: Any = None) -> None:
        x = as_rows(X)
        columns = getattr(X, "columns", ()) if columns is None else columns
        are_names = len(columns) == x.n_columns and all(isinstance(c, str) for c in columns)
        names = tuple(map(str, columns)) if are_names else None
        y = None if y is None else np.asarray(y)
        weight = checked_weights(weight, x.n_rows)
        if y is not None and y.shape != (x.n_rows,):
            raise DataError(f"y has shape {y.shape}, expected ({x.n_rows},) as X has rows")
        super().__init__(Shard(x, y, weight, first=0, columns=names))


class PairData(InMemory):
    """A list of inputs and a list of outputs, for tasks written in Python.

    Parameters
    ----------
    inputs : sequence of anything picklable
    outputs : sequence of the same length, or None for prediction
    weight : array of shape (n,), optional
    """

    uses_cost = True

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any] | None = None, weight: Any = None
    ) -> None:
        self.inputs, self.outputs = inputs, outputs
        weight = checked_weights(weight, len(inputs))
        if outputs is not None and len(outputs) != len(inputs):
            raise DataError(f"{len(outputs)} outputs for {len(inputs)} inputs")
        super().__init__(Shard(inputs, outputs, weight, first=0))


@dataclass(frozen=True)
class Unlabelled:
    """A data set without its outputs, which may be anything and are not read."""

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
    """A shard without its outputs."""

    spec: ShardSpec

    def load(self) -> Shard:
        return replace(self.spec.load(), y=None)

    @property
    def parts(self) -> Any:
        """The parts of files that it reads; none for data in memory."""
        return getattr(self.spec, "parts", ())

    @property
    def locate(self) -> Locate | None:
        return getattr(self.spec, "locate", None)


def cut(costs: np.ndarray, n_shards: int | None) -> list[range]:
    """Return the ranges of n_shards shards, or of the default number, over these examples."""
    n = costs.size
    if n == 0:
        raise DataError("the data has no examples")
    if n_shards is None:
        n_shards = default_n_shards(n)
    if not 1 <= n_shards <= n:
        raise ConfigError("n_shards", n_shards, f"1 to {n}, the number of examples")
    return partition(costs, n_shards)


def checked_weights(weight: Any, n: int) -> np.ndarray | None:
    """Return example weights as float64; refused unless one a row, finite, ≥ 0 and not all 0."""
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
