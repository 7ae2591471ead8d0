"""Folds hold every example out once, with its label and its weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from distsvm.data.dataset import PairData, TableData
from distsvm.data.folds import folds
from distsvm.errors import ConfigError


@given(n=st.integers(2, 30), n_folds=st.integers(2, 30), seed=st.integers(0, 3))
@settings(deadline=None)
def test_every_example_is_held_out_once(n, n_folds, seed):
    data = PairData(list(range(n)), list(range(n)))
    if n_folds > n:
        with pytest.raises(ConfigError, match=f"only {n} examples"):
            list(folds(data, n_folds, seed))
        return
    held_out = []
    for rest, part in folds(data, n_folds, seed):
        assert sorted([*rest.shard.x, *part.shard.x]) == list(range(n))
        assert part.shard.n in (n // n_folds, n // n_folds + 1)
        assert part.shard.x == part.shard.y
        held_out += part.shard.x
    assert sorted(held_out) == list(range(n))


def test_folds_of_tables_keep_rows_labels_and_weights_together():
    rng = np.random.default_rng(0)
    X = sparse.random(23, 7, 0.4, format="csr", random_state=1)
    y, weight = np.arange(23), rng.uniform(1, 2, 23)
    for form in (X, X.toarray()):
        for rest, part in folds(TableData(form, y, weight), 4):
            for data in (rest, part):
                for spec in data.specs(3):
                    shard = spec.load()
                    assert np.array_equal(shard.weight, weight[shard.y])
                    dense = dense_of(shard.x)
                    assert np.array_equal(dense, X.toarray()[shard.y])


def dense_of(rows):
    if hasattr(rows, "columns"):
        return sparse.csr_matrix(rows.arrays(), shape=(rows.n_rows, rows.n_columns)).toarray()
    return rows.values
