"""Steps of the dual over planes as lists; see kernels/climb.py and kernels/lists.py.

z, base and told have a number for each weight in use, by its id. `times` says how often a change of
each counts, and is empty where all count once.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.climb import raise_dual
from distsvm.kernels.lists import part_ids, plane_terms
from distsvm.kernels.options import kernel


@kernel
def run_product(ids, values, at, start, stop, z):
    """Σ value·z of the weights from `start` to `stop`; all values are 1 where `at` is below 0."""
    # Four sums side by side, so that none has to wait for the one before.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    e = start
    if at < 0:
        while e + 4 <= stop:
            s0 += z[ids[e]]
            s1 += z[ids[e + 1]]
            s2 += z[ids[e + 2]]
            s3 += z[ids[e + 3]]
            e += 4
        while e < stop:
            s0 += z[ids[e]]
            e += 1
    else:
        v = at - start
        while e + 4 <= stop:
            s0 += values[v + e] * z[ids[e]]
            s1 += values[v + e + 1] * z[ids[e + 1]]
            s2 += values[v + e + 2] * z[ids[e + 2]]
            s3 += values[v + e + 3] * z[ids[e + 3]]
            e += 4
        while e < stop:
            s0 += values[v + e] * z[ids[e]]
            e += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def add_run(ids, values, at, start, stop, factor, times, z):
    """z += factor·times·value at the weights from `start` to `stop`."""
    for e in range(start, stop):
        x = factor if at < 0 else factor * values[at + e - start]
        z[ids[e]] += x * times[ids[e]] if times.size else x


@kernel
def scores_of(records, i, values, z, score):
    """Fill the score of every part of an example."""
    start, p0 = records.first[i, 0], records.first[i, 1]
    e = start
    for p in range(records.length[i, 1]):
        stop = start + records.stops[p0 + p]
        score[p] = run_product(records.ids, values, records.at[p0 + p], e, stop, z)
        e = stop


@kernel
def add_parts(records, i, values, change, factor, times, z):
    """z += factor·times·(Σ change·part), and no part has a change any more; the work."""
    start, p0 = records.first[i, 0], records.first[i, 1]
    e, work = start, 0
    for p in range(records.length[i, 1]):
        stop = start + records.stops[p0 + p]
        if change[p] != 0.0:
            own = factor * change[p]
            add_run(records.ids, values, records.at[p0 + p], e, stop, own, times, z)
            change[p] = 0.0
            work += stop - e
        e = stop
    return work


@kernel
def plane_sum(records, i, k, score):
    """Σ factor·score of the parts of plane k."""
    first, stop = plane_terms(records, i, k)
    total = 0.0
    for t in range(first, stop):
        total += records.factors[t] * score[records.terms[t]]
    return total


@kernel
def add_plane(records, i, k, factor, change):
    """change += factor·(plane k), part by part."""
    first, stop = plane_terms(records, i, k)
    for t in range(first, stop):
        change[records.terms[t]] += factor * records.factors[t]


@kernel
def most_parts(records, rows):
    most = 1
    for i in rows:
        most = max(most, records.length[i, 1])
    return most


@kernel
def visit_lists(rows, records, values, held, sigma, max_steps, tol, times, z, touched):
    """Climb over each of these examples in turn.

    Returns the gain of the dual and of Σ α·q, the work, and how many ids of changed weights, some
    more than once, were written to `touched`, unless that is empty.
    """
    size, most = held.q.shape[1], most_parts(records, rows)
    score, change = np.empty(most), np.zeros(most)
    value, step = np.empty(size), np.empty(size)
    gain, linear, work, n = 0.0, 0.0, 0, 0
    for i in rows:
        m = held.count[i]
        if m == 0:
            continue
        scores_of(records, i, values, z, score)
        for k in range(m):
            value[k] = held.q[i, k] - plane_sum(records, i, k, score)
        work += records.length[i, 0] + records.ends[i, m - 1]
        raised = raise_dual(held, i, value[:m], sigma, max_steps, tol, step[:m])
        if raised == 0.0:
            continue
        gain += raised
        for k in range(m):
            if step[k] != 0.0:
                linear += step[k] * held.q[i, k]
                add_plane(records, i, k, step[k], change)
        if touched.size:
            for p in range(records.length[i, 1]):
                if change[p] != 0.0:
                    first, stop = part_ids(records, i, p)
                    for e in range(first, stop):
                        touched[n] = records.ids[e]
                        n += 1
        work += add_parts(records, i, values, change, sigma, times, z)
    return gain, linear, work, n


@kernel
def gram_of_lists(rows, slots, records, values, held, times, dense):
    """Fill the rows and columns of the examples' Gram matrices that belong to these slots.

    `dense` has a 0 for each weight in use, and has so afterwards.
    """
    most = most_parts(records, rows)
    score, change = np.empty(most), np.zeros(most)
    for j in range(rows.size):
        i, slot = rows[j], slots[j]
        add_plane(records, i, slot, 1.0, change)
        add_parts(records, i, values, change, 1.0, times, dense)
        scores_of(records, i, values, dense, score)
        for k in range(held.count[i]):
            total = plane_sum(records, i, k, score)
            held.gram[i, slot, k] = held.gram[i, k, slot] = total
        for e in range(records.first[i, 0], records.first[i, 0] + records.length[i, 0]):
            dense[records.ids[e]] = 0.0


@kernel
def sum_of_lists(share, records, values, out):
    """out += Σ share·p, by id; share[i, k] is 0 where example i has no plane k."""
    change, once = np.zeros(most_parts(records, np.arange(share.shape[0]))), np.empty(0)
    for i in range(share.shape[0]):
        some = False
        for k in range(share.shape[1]):
            if share[i, k] != 0.0:
                add_plane(records, i, k, share[i, k], change)
                some = True
        if some:
            add_parts(records, i, values, change, 1.0, once, out)


@kernel
def tell_changes(ids, weight, times, sigma, z, told, w):
    """Add to w what has changed at these ids since it was last told."""
    for number in ids:
        change = z[number] - told[number]
        if change != 0.0:
            w[weight[number]] += change / (sigma * times[number] if times.size else sigma)
            told[number] = z[number]


@kernel
def hear_changes(rows, records, weight, times, sigma, base, z, told, w):
    """Take over from w how it differs from `base`, at the weights of these examples."""
    for i in rows:
        for e in range(records.first[i, 0], records.first[i, 0] + records.length[i, 0]):
            number = records.ids[e]
            factor = sigma * times[number] if times.size else sigma
            z[number] = base[number] + factor * (w[weight[number]] - base[number])
            told[number] = z[number]
