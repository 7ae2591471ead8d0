"""Sums along a fixed binary tree, which gives one order of additions on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Node: TypeAlias = "tuple[int, int]"


def merge(nodes: Mapping[Node, Any], n_leaves: int) -> dict[Node, Any]:
    """Add neighbours as far up the tree as the nodes at hand allow.

    Node (level, index) holds the sum of the leaves index·2^level … (index + 1)·2^level − 1 that
    exist. A parent is left + right child; a right child beyond the last leaf counts as nothing.
    In whatever order parts are merged, the root (reached once all leaves are in) is the same sum in
    the same order, bit for bit.

    Parameters
    ----------
    nodes : mapping of (level, index) to a value that has `+`
    n_leaves : int

    Returns
    -------
    dict of the topmost nodes that could be reached; the root alone when all leaves are covered
    """
    done: dict[Node, Any] = {}
    waiting = dict(nodes)
    level = 0
    while waiting:
        width = -(-n_leaves // 2**level)  # nodes that exist on this level
        here = sorted(key for key in waiting if key[0] == level)
        for key in here:
            if key not in waiting:
                continue
            index = key[1]
            if width == 1:
                done[key] = waiting.pop(key)
            elif index % 2 == 0 and index + 1 == width:
                waiting[(level + 1, index // 2)] = waiting.pop(key)
            elif index % 2 == 0 and (level, index + 1) in waiting:
                left, right = waiting.pop(key), waiting.pop((level, index + 1))
                waiting[(level + 1, index // 2)] = left + right
            else:
                done[key] = waiting.pop(key)
        level += 1
    return done


def root(nodes: Mapping[Node, Any], n_leaves: int) -> Any:
    """Return the sum of all leaves; exactly one node must cover each leaf."""
    merged = merge(nodes, n_leaves)
    top = ((n_leaves - 1).bit_length(), 0)
    if merged.keys() != {top}:
        raise ValueError(f"the nodes {sorted(nodes)} do not cover {n_leaves} leaves")
    return merged[top]


class Sum:
    """A sum whose leaves come in any order; only nodes without a neighbour are in memory."""

    def __init__(self, n_leaves: int) -> None:
        self.n_leaves = n_leaves
        self.nodes: dict[Node, Any] = {}

    def add(self, nodes: Mapping[Node, Any]) -> None:
        """Add nodes, each leaf at most once."""
        self.nodes = merge({**self.nodes, **nodes}, self.n_leaves)

    def total(self) -> Any:
        """Return the sum of all leaves, which must have been added."""
        return root(self.nodes, self.n_leaves)
