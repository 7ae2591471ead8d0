from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.executors.tree import Sum, merge, root


def recursive(leaves: list) -> Any:
    """The tree's definition: the left part is the largest power of two below the length."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return recursive(leaves[:half]) + recursive(leaves[half:])


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[list[int]]]:
    """A number of leaves, and a partition of them into consecutive runs in any order."""
    n = draw(st.integers(1, 40))
    borders = sorted(draw(st.sets(st.integers(1, max(1, n - 1)))) & set(range(1, n)))
    edges = [0, *borders, n]
    parts = [list(range(a, b)) for a, b in pairwise(edges)]
    return n, draw(st.permutations(parts))


def leaves_of(n: int) -> list[float]:
    return list(np.random.default_rng(n).normal(size=n) * 10.0 ** (np.arange(n) % 17))


@given(runs())
def test_any_partition_into_runs_gives_the_bits_of_the_tree(partition):
    n, parts = partition
    leaves = leaves_of(n)
    nodes: dict = {}
    for part in parts:
        nodes |= merge({(0, i): leaves[i] for i in part}, n)
    assert root(nodes, n) == recursive(leaves)


@given(runs())
def test_a_growing_sum_gives_the_bits_of_the_tree_in_any_order(partition):
    n, parts = partition
    leaves = leaves_of(n)
    total = Sum(n)
    for part in parts:
        for i in reversed(part):
            total.add({(0, i): leaves[i]})
    assert total.total() == recursive(leaves)


@given(runs())
def test_leaves_are_added_from_left_to_right(partition):
    n, parts = partition
    nodes: dict = {}
    for part in parts:
        nodes |= merge({(0, i): (i,) for i in part}, n)
    assert root(nodes, n) == tuple(range(n))


@given(st.integers(1, 6), st.integers(0, 7))
def test_an_aligned_run_comes_back_as_one_node(level, index):
    width = 2**level
    nodes = {(0, index * width + i): 1 for i in range(width)}
    assert merge(nodes, 8 * width) == {(level, index): width}


def test_a_sum_in_leaf_order_holds_few_nodes():
    total = Sum(1000)
    for i in range(1000):
        total.add({(0, i): 1})
        assert len(total.nodes) <= 10
    assert total.total() == 1000


def test_missing_leaves_are_refused():
    with pytest.raises(ValueError, match="do not cover 4 leaves"):
        root({(0, 0): 1.0, (0, 1): 1.0}, 4)
