"""The cache keeps the most recent planes of each example, and only those."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.messages import Planes
from distsvm.structures.classes.task import MulticlassTask
from distsvm.workers.cache import PlaneCache

N, K, D = 6, 5, 3
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
SHARD = Shard(as_rows(X), np.arange(N) % K, None)
TASK = MulticlassTask().prepare(MulticlassTask().scan(SHARD))
ORACLE = TASK.oracle(SHARD, "margin")

steps = st.lists(
    st.lists(
        st.tuples(st.integers(0, N - 1), st.integers(0, K - 1)),
        max_size=N, unique_by=lambda t: t[0],
    ),
    max_size=12,
)  # fmt: skip


def planes_of(step):
    row = np.array([r for r, _ in step], dtype=np.int64)
    output = np.array([c for _, c in step], dtype=np.int32)
    return Planes.linear(row, output, ORACLE.losses(row, output))


@settings(max_examples=60)
@given(steps, st.integers(1, 4))
def test_cache_equals_lists_of_recent_outputs(history, size):
    cache = PlaneCache(ORACLE, size)
    recent = {row: [] for row in range(N)}
    for step in history:
        cache.insert(planes_of(step))
        for row, output in step:
            if output == row % K:
                continue  # the truth is not kept
            if output in recent[row]:
                recent[row].remove(output)
            recent[row] = [*recent[row], output][-size:]
    state = cache.state()
    for row in range(N):
        held = state["output"][state["row"] == row]
        assert sorted(held.tolist()) == sorted(recent[row])
    assert cache.n_planes == sum(map(len, recent.values()))


@settings(max_examples=40)
@given(steps, st.integers(1, 4), st.integers(0, 1000))
def test_best_is_the_largest_value_and_a_restored_cache_goes_on_alike(history, size, seed):
    cache = PlaneCache(ORACLE, size)
    for step in history:
        cache.insert(planes_of(step))
    twin = PlaneCache(ORACLE, size)
    twin.restore(cache.state().items())
    w = np.random.default_rng(seed).standard_normal(TASK.dim)
    view, state = ORACLE.view(w), cache.state()
    chosen, values = cache.best(view, np.arange(N))
    every = Planes.linear(state["row"], state["output"], state["loss"])
    all_values = ORACLE.values(view, every)
    for row in range(N):
        mine = all_values[every.row == row]
        highest = max(mine, default=0.0)
        found = values[chosen.row == row]
        assert (found.size == 1 and found[0] == highest) if highest > 0 else not found.size
    again, same = twin.best(view, np.arange(N))
    assert np.array_equal(again.output, chosen.output)
    assert np.array_equal(same, values)
    for name, array in cache.state().items():
        assert np.array_equal(array, twin.state()[name]), name
