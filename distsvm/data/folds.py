"""Folds: groups of examples; each fold is left out of training once, for validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distsvm.data.dataset import Dataset, InMemory
from distsvm.data.keeping import load
from distsvm.errors import ConfigError
from distsvm.wording import Setting, message


def folds(data: Dataset, n_folds: int, seed: int = 0) -> Iterator[tuple[InMemory, InMemory]]:
    """Yield (the rest, the fold) for each of n_folds folds, whose sizes differ by at most one.

    The fold of an example depends on its number, the number of examples and `seed`, not on shards.
    Files are read into memory.
    """
    given = Setting("cv", n_folds)
    specs = data.specs(1)
    if len(specs) != 1:
        raise ConfigError(
            message("{}: folds need the data in one shard, and this data gives several", given)
        )
    whole = load(specs[0], None)
    if n_folds > whole.n:
        raise ConfigError(message("{}: there are only {} examples", given, whole.n))
    fold = np.random.default_rng(seed).permutation(whole.n) % n_folds
    for k in range(n_folds):
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        yield InMemory(whole.take(rest)), InMemory(whole.take(own))
