"""Taxonomy: a tree of classes, with its paths, heights and lowest common ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.errors import DataError

SEPARATOR = "/"
"""Between the names of a path; the root is in no path."""


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree with one root; nodes are numbered such that those below a node follow it.

    Parameters
    ----------
    names : array of n texts
        Each node's own; children of one node have different names, in increasing order.
    parents : int32 array of shape (n,)
        −1 for the root, which is node 0.
    """

    names: np.ndarray
    parents: np.ndarray

    # --- making one ------------------------------------------------------------------------

    @classmethod
    def of_paths(cls, paths: Iterable[Sequence[str]], root: str = "") -> Taxonomy:
        """Return the tree of these paths, each of the names from below the root to a node."""
        tree: dict[str, Any] = {}
        for path in paths:
            inner = tree
            for name in path:
                inner = inner.setdefault(name, {})
        names, parents = [root], [-1]
        # A stack, as taxonomies may be deeper than Python's calls.
        stack = [(0, name, below) for name, below in sorted(tree.items(), reverse=True)]
        while stack:
            above, name, below = stack.pop()
            names.append(name)
            parents.append(above)
            number = len(names) - 1
            stack += [(number, *item) for item in sorted(below.items(), reverse=True)]
        return cls(np.array(names), np.array(parents, np.int32))

    @classmethod
    def of_parents(
        cls, parents: Iterable[tuple[str, str | None]], places: Sequence[str] = ()
    ) -> Taxonomy:
        """Return the tree of pairs (node, its parent); the root has no parent, or no pair.

        `places` names each pair in errors, by default `pair 3`.
        """
        above: dict[str, str | None] = {}
        where: dict[str, str] = {}
        for number, (name, parent) in enumerate(parents):
            place = places[number] if places else f"taxonomy, pair {number + 1}"
            if name in above:
                raise DataError(f"{place}: node {name!r} has two parents; expected one")
            above[name], where[name] = parent, place
            if parent is not None:
                where.setdefault(parent, place)
        roots = [name for name in where if above.get(name) is None]
        if len(roots) > 1:
            first, second = roots[:2]
            raise DataError(
                f"{where[second]}: several roots, {first!r} and {second!r}; expected one node "
                "without a parent"
            )
        paths = _paths_of(above, where)
        return cls.of_paths(paths, roots[0])

    @classmethod
    def of_nested(cls, nested: Any, place: str = "taxonomy") -> Taxonomy:
        """Return the tree of {name: below}, with a dict, a list of names or None below a name."""
        paths: list[tuple[str, ...]] = []
        stack: list[tuple[tuple[str, ...], Any]] = [((), nested)]
        while stack:
            path, below = stack.pop()
            shown = SEPARATOR.join(path) or "the root"
            if path:
                paths.append(path)
            if below is None:
                continue
            if isinstance(below, Mapping):
                items = [(name, inner) for name, inner in below.items()]
            elif isinstance(below, (list, tuple)):
                if len(set(map(str, below))) < len(below):
                    raise DataError(f"{place}: two nodes of the same name below {shown}")
                items = [(name, None) for name in below]
            else:
                raise DataError(
                    f"{place}: below {shown} is {below!r}, expected an object or a list of names"
                )
            for name, inner in items:
                if not isinstance(name, (str, int)) or isinstance(name, bool):
                    raise DataError(f"{place}: the node {name!r} below {shown} has no text as name")
                stack.append(((*path, str(name)), inner))
        if not paths:
            raise DataError(f"{place}: the taxonomy has no nodes below its root")
        return cls.of_paths(paths)

    def check(self) -> None:
        """Raise ValueError for arrays that no constructor can have made."""
        n = self.names.size
        if self.names.dtype.kind != "U" or self.names.ndim != 1 or n < 2:
            raise ValueError("the nodes of the taxonomy have no names")
        parents = checks.vector("parents", self.parents, "i", n)
        if parents[0] != -1 or (parents[1:] < 0).any() or (parents >= np.arange(n)).any():
            raise ValueError("the parents are no tree")
        # What follows a node is below it: each parent is at or above the node before.
        for node in range(1, n):
            before = node - 1
            while before > parents[node]:
                before = parents[before]
            if before != parents[node]:
                raise ValueError("the nodes are not in the order of a walk through the tree")

    # --- the tree --------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self.names.size

    @cached_property
    def depth(self) -> np.ndarray:
        """Steps from the root to each node."""
        depth = np.zeros(self.size, np.int32)
        for node, parent in enumerate(self.parents.tolist()[1:], 1):
            depth[node] = depth[parent] + 1
        return frozen(depth)

    @cached_property
    def height(self) -> np.ndarray:
        """The longest way down from each node to a leaf."""
        height = np.zeros(self.size)
        parents = self.parents.tolist()
        for node in range(self.size - 1, 0, -1):
            height[parents[node]] = max(height[parents[node]], height[node] + 1.0)
        return frozen(height)

    @cached_property
    def end(self) -> np.ndarray:
        """The nodes at or below z are z … end[z] − 1."""
        end = np.arange(1, self.size + 1)
        parents = self.parents.tolist()
        for node in range(self.size - 1, 0, -1):
            end[parents[node]] = max(end[parents[node]], end[node])
        return frozen(end)

    @cached_property
    def leaves(self) -> np.ndarray:
        return np.flatnonzero(self.height == 0)

    @cached_property
    def paths(self) -> list[str]:
        """The path of each node; that of the root is empty."""
        paths = [""]
        for name, parent in zip(self.names.tolist()[1:], self.parents.tolist()[1:], strict=True):
            paths.append(f"{paths[parent]}{SEPARATOR}{name}" if parent else name)
        return paths

    @cached_property
    def _known(self) -> dict[str, int]:
        """The node of each path and of each name that one node has; −1 where several have it."""
        known: dict[str, int] = {}
        for node, name in enumerate(self.names.tolist()[1:], 1):
            known[name] = -1 if name in known else node
        # A path is the node's own, whatever other nodes are called.
        return known | {path: node for node, path in enumerate(self.paths) if node}

    def find(self, text: str) -> int | None:
        """Return the node with this path, or the one with this name; None if there is none."""
        node = self._known.get(text)
        if node == -1:
            several = [path for path in self.paths if path.endswith(f"{SEPARATOR}{text}")]
            shown = " and ".join(map(repr, several[:2]))
            raise DataError(f"{text!r} is the name of several nodes, {shown}; expected a path")
        return node

    def label(self, node: int) -> str:
        """Return the shortest text that `find` finds this node by: its name, or its path."""
        name = str(self.names[node])
        return name if self._known[name] == node else self.paths[node]

    def ancestors(self, node: int) -> list[int]:
        """Return the nodes on the way from below the root down to this one."""
        way = []
        while node > 0:
            way.append(node)
            node = int(self.parents[node])
        return way[::-1]


def _paths_of(above: Mapping[str, str | None], where: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the path of every node but the root; a cycle is refused."""
    paths: dict[str, tuple[str, ...]] = {}
    for name in above:
        way, node, on_way = [], name, set()
        while above.get(node) is not None and node not in paths:
            if node in on_way:
                raise DataError(f"{where[node]}: node {node!r} is below itself: a cycle")
            on_way.add(node)
            way.append(node)
            node = above[node]  # type: ignore[assignment]
        path = paths.get(node, ())
        for one in reversed(way):
            path = (*path, one)
            paths[one] = path
    if not paths:
        raise DataError("the taxonomy has no nodes below its root")
    return list(paths.values())
