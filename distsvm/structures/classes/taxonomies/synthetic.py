"""Made-up data of taxonomies: classes that are near each other in the tree look alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from distsvm.structures.classes.taxonomies.taxonomy import SEPARATOR


def make_taxonomy_data(
    n: int, d: int, branching: Sequence[int] = (3, 3), *, noise: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows around the sum of normal vectors of the nodes above their class.

    Parameters
    ----------
    n, d : int
        Rows and features. The first rows have a class each, the others any.
    branching : list of int
        The children of every node, by depth.
    noise : float
        The standard deviation of a row's features around the sum.

    Returns
    -------
    X : array of shape (n, d)
    y : array of n paths, such as a1/b0
    """
    rng = np.random.default_rng(seed)
    ways = list(product(*(range(size) for size in branching)))
    vectors: dict[tuple[int, ...], np.ndarray] = {}
    centres = np.zeros((len(ways), d))
    paths = []
    for number, way in enumerate(ways):
        for depth in range(1, len(way) + 1):
            if way[:depth] not in vectors:
                vectors[way[:depth]] = rng.standard_normal(d)
            centres[number] += vectors[way[:depth]]
        paths.append(
            SEPARATOR.join(f"{chr(ord('a') + depth)}{child}" for depth, child in enumerate(way))
        )
    drawn = rng.integers(len(ways), size=n)
    drawn[: len(ways)] = np.arange(len(ways))[:n]
    return centres[drawn] + noise * rng.standard_normal((n, d)), np.array(paths)[drawn]
