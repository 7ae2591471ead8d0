"""Cut consecutive examples into shards of about equal cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

MAX_SHARDS = 16
MIN_EXAMPLES = 32
MIN_VALUES = 1 << 16
VALUES_PER_COLUMN = 8


def default_n_shards(n_examples: int) -> int:
    """Return 16, or fewer where a shard would have under 32 examples, whatever the machine is."""
    return int(max(1, min(MAX_SHARDS, n_examples // MIN_EXAMPLES)))


def default_n_shards_of_table(n_examples: int, n_values: float, n_columns: int) -> int:
    """As default_n_shards, or fewer where the sums of a shard would cost more than its examples.

    A shard has at least 65,536 stored values, because handing out a smaller one takes longer than
    its work, and at least 8 for each column, because its cut takes time for every column.
    """
    most = min(n_values / MIN_VALUES, n_values / (VALUES_PER_COLUMN * max(1, n_columns)))
    return max(1, min(default_n_shards(n_examples), int(most)))


def partition(costs: np.ndarray, n_shards: int) -> list[range]:
    """Return n_shards consecutive ranges, none empty, of costs as equal as one example allows.

    Parameters
    ----------
    costs : float array of shape (n,), positive
    n_shards : int, at most n
    """
    n = costs.size
    total = np.concatenate([[0.0], np.cumsum(costs)])
    wished = total[-1] * np.arange(1, n_shards) / n_shards
    ends = np.searchsorted(total, wished, side="left")
    # Take the nearer example on either side of the wished place; each shard has at least one.
    nearer_below = (ends > 0) & (wished - total[np.maximum(ends - 1, 0)] < total[ends] - wished)
    ends = ends - nearer_below
    for i in range(ends.size):
        low = (ends[i - 1] if i else 0) + 1
        ends[i] = min(max(ends[i], low), n - (n_shards - 1 - i))
    edges = [0, *ends.tolist(), n]
    return [range(low, high) for low, high in pairwise(edges)]
