from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.errors import ConfigError
from distsvm.executors.assignment import consecutive_runs, shared_out
from distsvm.executors.base import checked_costs

costs = st.lists(st.floats(0, 1e6), min_size=1, max_size=30)


@given(costs, st.integers(1, 40))
def test_runs_cover_all_shards_in_order_and_none_is_empty(costs, n_workers):
    runs = consecutive_runs(costs, n_workers)
    assert [shard for run in runs for shard in run] == list(range(len(costs)))
    assert len(runs) == min(n_workers, len(costs))
    assert all(runs)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(1, 10))
def test_no_run_costs_more_than_its_share_and_one_shard(costs, n_workers):
    for run in consecutive_runs(costs, n_workers):
        if len(run) > 1:
            fair = sum(costs) / min(n_workers, len(costs))
            assert sum(costs[shard] for shard in run) <= fair + max(costs) + 1e-9


def test_equal_costs_give_aligned_runs():
    assert consecutive_runs([1.0] * 8, 4) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [len(run) for run in consecutive_runs([0.0] * 16, 3)] == [5, 6, 5]


def test_costs_are_balanced():
    assert consecutive_runs([9, 1, 1, 1, 3, 3], 2) == [(0,), (1, 2, 3, 4, 5)]


@pytest.mark.parametrize("costs", [[1.0, -1.0], [1.0, float("nan")], [1.0]])
def test_impossible_costs_are_refused(costs):
    with pytest.raises(ConfigError, match="cost"):
        checked_costs(costs, 2)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 5))
def test_every_group_is_shared_out_by_itself(sizes, n_workers):
    edges = [0, *accumulate(sizes)]
    groups = [range(a, b) for a, b in pairwise(edges)]
    hosted = shared_out([1.0] * edges[-1], groups, n_workers)
    assert sorted(shard for shards in hosted for shard in shards) == list(range(edges[-1]))
    for group in groups:
        counts = [sum(shard in group for shard in shards) for shards in hosted]
        assert max(counts) - min(counts[: len(group)]) <= 1
