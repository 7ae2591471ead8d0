"""Cutting a row of examples into consecutive shards of about equal cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

MAX_SHARDS = 16
MIN_EXAMPLES = 32
MIN_VALUES = 1 << 16
VALUES_PER_COLUMN = 8


def default_n_shards(n_examples: int) -> int:
    """16, or fewer where a shard would have under 32 examples; never the machine's business."""
    return int(max(1, min(MAX_SHARDS, n_examples // MIN_EXAMPLES)))


def default_n_shards_of_table(n_examples: int, n_values: float, n_columns: int) -> int:
    """As default_n_shards, or fewer where a shard's own work would not outweigh its sums.

    A shard of under 65,536 stored values is over before it could be shared out, and each shard's
    cut costs time in proportion to the columns: it has at least 8 values for each of them.
    """
    most = min(n_values / MIN_VALUES, n_values / (VALUES_PER_COLUMN * max(1, n_columns)))
    return max(1, min(default_n_shards(n_examples), int(most)))


def partition(costs: np.ndarray, n_shards: int) -> list[range]:
    """n_shards consecutive, non-empty ranges whose costs differ as little as one example allows.

    Parameters
    ----------
    costs : float array of shape (n,), positive
    n_shards : int, at most n
    """
    n = costs.size
    total = np.concatenate([[0.0], np.cumsum(costs)])
    wished = total[-1] * np.arange(1, n_shards) / n_shards
    ends = np.searchsorted(total, wished, side="left")
    # The nearer of the two examples around the wished place, and at least one example a shard.
    nearer_below = (ends > 0) & (wished - total[np.maximum(ends - 1, 0)] < total[ends] - wished)
    ends = ends - nearer_below
    for i in range(ends.size):
        low = (ends[i - 1] if i else 0) + 1
        ends[i] = min(max(ends[i], low), n - (n_shards - 1 - i))
    edges = [0, *ends.tolist(), n]
    return [range(low, high) for low, high in pairwise(edges)]
