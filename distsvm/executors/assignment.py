"""The assignment of shards to workers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise


def shared_out(
    costs: Sequence[float], groups: Sequence[range], n_workers: int
) -> list[tuple[int, ...]]:
    """Return the shards of each worker: a run of about equal cost of every group."""
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
    n_workers : the largest number of runs; there are fewer if there are fewer shards
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


Hosted = Mapping[int, Sequence[int]]


def spread(
    shards: Sequence[int], hosted: Hosted, costs: Sequence[float], groups: Sequence[range]
) -> dict[int, list[int]]:
    """Return the workers that take over these shards, each the one with the least cost so far.

    Parameters
    ----------
    hosted : the shards that each worker has already
    """
    taken: dict[int, list[int]] = {}
    for group in groups:
        load = {n: _load(own, group, costs) for n, own in hosted.items()}
        for shard in (s for s in shards if s in group):
            host = min(load, key=lambda n: (load[n], n))
            load[host] += costs[shard]
            taken.setdefault(host, []).append(shard)
    return taken


def handed_over(
    newcomers: Sequence[int], hosted: Hosted, costs: Sequence[float], groups: Sequence[range]
) -> dict[int, list[int]]:
    """Return the shards that the new workers get: as few of the others' as make the load even.

    A shard moves from the worker of the highest cost, and only while the new worker's cost
    afterwards is below that worker's cost before.
    """
    taken: dict[int, list[int]] = {}
    for group in groups:
        own = {n: [s for s in shards if s in group] for n, shards in hosted.items()}
        own |= {n: [] for n in newcomers}
        load = {n: _load(shards, group, costs) for n, shards in own.items()}
        while True:
            giver = max(load, key=lambda n: (load[n], -n))
            taker = min(newcomers, key=lambda n: (load[n], n))
            if giver in newcomers or len(own[giver]) < 2:
                break
            shard = own[giver][-1]
            if load[taker] + costs[shard] >= load[giver]:
                break
            own[giver].pop()
            own[taker].append(shard)
            load[giver] -= costs[shard]
            load[taker] += costs[shard]
        for number in newcomers:
            if own[number]:
                taken.setdefault(number, []).extend(sorted(own[number]))
    return taken


def _load(shards: Sequence[int], group: range, costs: Sequence[float]) -> float:
    return sum(costs[shard] for shard in shards if shard in group)
