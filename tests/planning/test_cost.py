"""The cost model: its parts add up, its best is the best, and limits are as they must be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.errors import ConfigError
from distsvm.planning.cost import (
    MEASURED,
    Constants,
    Problem,
    economical,
    fastest,
    overridden,
    plan,
)

COUNT = st.integers(1, 10**6)
PROBLEMS = st.builds(
    Problem,
    examples=COUNT,
    dim=COUNT,
    oracle_s=st.floats(1e-6, 1.0),
    example_bytes=st.floats(1, 1e6),
    nonzeros=st.none() | COUNT,
    cuts=st.integers(1, 500),
)


@given(PROBLEMS, st.integers(1, 5000), st.integers(1, 64))
def test_a_round_is_the_sum_of_its_parts_and_the_oracle_is_shared(problem, workers, on_node):
    found = plan(problem, workers, on_node)
    parts = {k: v for k, v in found.seconds.items() if k != "round"}
    assert found.seconds["round"] == pytest.approx(sum(parts.values()))
    assert found.seconds["oracle"] == pytest.approx(
        problem.examples * problem.oracle_s / workers, rel=1e-12
    )
    assert 0 < found.efficiency <= 1
    assert (found.nodes - 1) * on_node < workers <= found.nodes * on_node
    assert (found.network["up"] == 0) == (found.nodes == 1)


@given(PROBLEMS, st.integers(1, 64), st.integers(1, 5000))
def test_nobody_is_faster_than_the_fastest(problem, on_node, workers):
    best = fastest(problem, on_node).seconds["round"]
    other = plan(problem, min(workers, int(problem.examples)), on_node).seconds["round"]
    assert best <= 1.02 * other  # numbers are tried in steps of 2 %


@given(PROBLEMS, st.integers(1, 64))
def test_the_economical_number_spends_its_time_in_the_oracle(problem, on_node):
    found = economical(problem, on_node)
    assert found.efficiency >= 0.8 or found.workers == 1
    best = fastest(problem, on_node)
    assert best.seconds["round"] <= found.seconds["round"]


def test_a_sparse_cut_is_smaller_until_it_is_not():
    assert Problem(10, 1000, 1.0).cut_bytes == 8000
    assert Problem(10, 1000, 1.0, nonzeros=10).cut_bytes == 120
    assert Problem(10, 1000, 1.0, nonzeros=900).cut_bytes == 8000


def test_more_of_the_same_machine_is_the_formula():
    constants = Constants(call_s=1.0, put_bytes_s=8.0, gather_bytes_s=8.0, algebra_bytes_s=8.0,
                          network_bytes_s=8.0)  # fmt: skip
    found = plan(Problem(12, 1, 1.0, cuts=3), 4, 2, constants).seconds
    # w: written once, and over one hop; a sum of 8 bytes from each of 4, over the network.
    expected = {"oracle": 3.0, "calls": 4.0, "w": 2.0, "cuts": 8.0, "algebra": 3.0, "round": 20.0}
    assert found == expected


@pytest.mark.parametrize(
    "name", ["examples", "dim", "oracle_s", "example_bytes", "cuts", "nonzeros"]
)
def test_what_cannot_be_is_refused(name):
    given = {"examples": 10, "dim": 10, "oracle_s": 1.0} | {name: -1}
    with pytest.raises(ConfigError, match=f"{name}=-1"):
        Problem(**given)


def test_constants_are_replaced_by_name():
    assert overridden(MEASURED, {"call_s": 1.0}).call_s == 1.0
    with pytest.raises(ConfigError, match="there is no 'calls'; there are call_s, put_bytes_s"):
        overridden(MEASURED, {"calls": 1.0})
    with pytest.raises(ConfigError, match="call_s=0"):
        overridden(MEASURED, {"call_s": 0})
