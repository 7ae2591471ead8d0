"""Which worker hosts which shards."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise


def shared_out(
    costs: Sequence[float], groups: Sequence[range], n_workers: int
) -> list[tuple[int, ...]]:
    """The shards of each worker: of every group a run of about equal cost."""
    hosted: list[tuple[int, ...]] = [()] * min(n_workers, max(map(len, groups), default=0))
    for group in groups:
        runs = consecutive_runs([costs[shard] for shard in group], n_workers)
        for number, run in enumerate(runs):
            hosted[number] += tuple(group.start + i for i in run)
    return hosted


def consecutive_runs(costs: Sequence[float], n_workers: int) -> list[tuple[int, ...]]:
    """Split shards 0 … n − 1 into runs of about equal cost, none of them empty.

    Run j ends at the shard border nearest to j/k of the total cost, so no run costs more than its
    fair share plus the costliest shard. Neighbours stay together because a run of neighbours
    comes back as few nodes of the summation tree.

    Parameters
    ----------
    costs : one non-negative number a shard
    n_workers : at most so many runs; fewer if there are fewer shards
    """
    n_runs = min(n_workers, len(costs))
    if not sum(costs):
        costs = [1.0] * len(costs)
    until = [0.0, *accumulate(costs)]
    borders = [0]
    for j in range(1, n_runs):
        goal = until[-1] * j / n_runs
        border = bisect_left(until, goal)
        if border and goal - until[border - 1] <= until[border] - goal:
            border -= 1
        lowest, highest = borders[-1] + 1, len(costs) - (n_runs - j)
        borders.append(min(max(border, lowest), highest))
    borders.append(len(costs))
    return [tuple(range(a, b)) for a, b in pairwise(borders) if a < b]
