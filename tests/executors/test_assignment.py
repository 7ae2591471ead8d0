from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.errors import ConfigError
from distsvm.executors.assignment import consecutive_runs, handed_over, shared_out, spread
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


cases = st.tuples(
    st.lists(st.integers(0, 9), min_size=1, max_size=20),
    st.integers(1, 20),
    st.integers(1, 5),
    st.integers(1, 3),
)


def divided(case: tuple[list[int], int, int, int]):
    """Costs, two groups, and the shards of each worker."""
    costs, cut, n_workers, _ = case
    groups = [g for g in (range(min(cut, len(costs))), range(cut, len(costs))) if len(g)]
    return costs, groups, dict(enumerate(shared_out(costs, groups, n_workers)))


def load(shards, group, costs):
    return sum(costs[shard] for shard in shards if shard in group)


@given(cases)
def test_shards_of_a_lost_worker_are_spread_over_the_others_and_none_gets_lost(case):
    costs, groups, hosted = divided(case)
    lost = hosted.pop(0)
    hosted = hosted or {7: ()}
    taken = spread(lost, hosted, costs, groups)
    assert sorted(s for shards in taken.values() for s in shards) == sorted(lost)
    assert taken.keys() <= hosted.keys()
    for group in groups:
        most = max(load(shards, group, costs) for shards in hosted.values())
        for worker, shards in taken.items():
            own = load(hosted[worker], group, costs)
            extra = [costs[s] for s in shards if s in group]
            fair = (sum(costs[s] for s in group)) / len(hosted)
            assert not extra or own + sum(extra) <= max(most, fair) + max(extra)


@given(cases)
def test_newcomers_take_shards_only_from_those_who_have_more(case):
    costs, groups, hosted = divided(case)
    newcomers = list(range(100, 100 + case[3]))
    taken = handed_over(newcomers, hosted, costs, groups)
    moved = [s for shards in taken.values() for s in shards]
    assert len(set(moved)) == len(moved)
    assert taken.keys() <= set(newcomers)
    for group in groups:
        before = max(load(shards, group, costs) for shards in hosted.values())
        for shards in taken.values():
            assert load(shards, group, costs) <= before
        for shards in hosted.values():  # nobody is left without any who had some
            rest = [s for s in shards if s in group and s not in moved]
            assert rest or not any(s in group for s in shards)


def test_a_newcomer_takes_half_of_what_one_worker_had():
    assert handed_over([1], {0: range(8)}, [1.0] * 8, [range(8)]) == {1: [4, 5, 6, 7]}
