"""Cutting examples into shards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data import PairData, TableData
from distsvm.data.partition import default_n_shards, partition
from distsvm.errors import ConfigError, DataError

costs_and_shards = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60).flatmap(
    lambda costs: st.tuples(st.just(np.array(costs)), st.integers(1, len(costs)))
)


@given(costs_and_shards)
def test_shards_cover_every_example_once_in_order_and_none_is_empty(drawn):
    costs, n_shards = drawn
    parts = partition(costs, n_shards)
    assert [i for part in parts for i in part] == list(range(costs.size))
    assert len(parts) == n_shards
    assert min(map(len, parts)) >= 1


@given(costs_and_shards)
def test_no_shard_costs_more_than_its_share_and_one_example(drawn):
    costs, n_shards = drawn
    largest = max(costs[part.start : part.stop].sum() for part in partition(costs, n_shards))
    assert largest <= (costs.sum() / n_shards + costs.max()) * (1 + 1e-12)


@given(st.integers(1, 50), st.integers(1, 20))
def test_equal_costs_give_sizes_that_differ_by_at_most_one(per_shard, n_shards):
    sizes = [len(part) for part in partition(np.ones(per_shard * n_shards + 1), n_shards)]
    assert max(sizes) - min(sizes) <= 1


def test_default_number_of_shards_depends_on_the_data_alone():
    assert [default_n_shards(n) for n in (1, 31, 64, 511, 512, 10**9)] == [1, 1, 2, 15, 16, 16]


def test_more_shards_than_examples_are_refused():
    with pytest.raises(ConfigError, match="n_shards=4: expected 1 to 3"):
        TableData(np.ones((3, 2)), [0, 1, 0]).specs(4)


def test_no_examples_are_refused():
    with pytest.raises(DataError, match="no examples"):
        PairData([], []).specs(None)


def test_rows_with_many_entries_weigh_more():
    from scipy import sparse

    X = np.zeros((8, 100))
    X[0] = 1.0
    X[:, 0] = 1.0
    first, _ = TableData(sparse.csr_matrix(X), np.arange(8)).specs(2)
    assert first.load().n == 1


def test_given_costs_balance_pairs():
    specs = PairData([5, 1, 1, 1, 1, 1], list("abcdef")).specs(2, cost=float)
    assert [list(spec.load().x) for spec in specs] == [[5], [1, 1, 1, 1, 1]]
