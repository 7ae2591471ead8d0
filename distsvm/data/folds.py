"""Folds: data cut into parts, each of which is held out once while the rest is trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.dataset import Dataset, LoadedShard, cut, cut_table
from distsvm.data.features import DenseRows, SparseRows
from distsvm.data.keeping import load
from distsvm.data.shard import Shard, ShardSpec
from distsvm.errors import ConfigError
from distsvm.wording import Setting, message


@dataclass(frozen=True, eq=False)
class ShardData:
    """The examples of one shard that is in memory, as a data set."""

    shard: Shard
    n_bytes: int | None = None

    def specs(
        self, n_shards: int | None, cost: Callable[[Any], float] | None = None
    ) -> Sequence[ShardSpec]:
        x, n = self.shard.x, self.shard.n
        if isinstance(x, (DenseRows, SparseRows)):
            parts = cut_table(x, n_shards)
        else:
            parts = cut(np.ones(n), n_shards)
        return [LoadedShard(self.shard.take(np.arange(p.start, p.stop))) for p in parts]


def folds(data: Dataset, n_folds: int, seed: int = 0) -> Iterator[tuple[ShardData, ShardData]]:
    """(the rest, the part) for each of so many parts, which are equally large to one example.

    Which part an example belongs to depends on its number, the number of all and `seed`, not on
    shards. Files are read into memory.
    """
    specs = data.specs(1)
    if len(specs) != 1:
        given = Setting("cv", n_folds)
        raise ConfigError(
            message("{}: the data cannot be had in one piece, which folds need", given)
        )
    whole = load(specs[0], None)
    if n_folds > whole.n:
        given = Setting("cv", n_folds)
        raise ConfigError(message("{}: there are only {} examples", given, whole.n))
    fold = np.random.default_rng(seed).permutation(whole.n) % n_folds
    for k in range(n_folds):
        rest, part = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        yield ShardData(whole.take(rest)), ShardData(whole.take(part))
