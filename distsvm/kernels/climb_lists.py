"""Steps of the dual over planes as lists; see kernels/climb.py and kernels/lists.py.

z, base and told have a number for each weight in use, by its id. `times` says how often a change of
each counts, and is empty where all count once.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.climb import raise_dual
from distsvm.kernels.options import kernel


@kernel
def scores_of(e0, p0, n, ids, stops, at, values, z, score):
    """Fill score[p] with Σ value·z of each part p of an example, n in all."""
    e = e0
    for p in range(n):
        stop, v = e0 + stops[p0 + p], at[p0 + p] - e
        # Four sums side by side, so that none has to wait for the one before.
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        if at[p0 + p] < 0:
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
            while e + 4 <= stop:
                s0 += values[v + e] * z[ids[e]]
                s1 += values[v + e + 1] * z[ids[e + 1]]
                s2 += values[v + e + 2] * z[ids[e + 2]]
                s3 += values[v + e + 3] * z[ids[e + 3]]
                e += 4
            while e < stop:
                s0 += values[v + e] * z[ids[e]]
                e += 1
        score[p] = (s0 + s1) + (s2 + s3)


@kernel
def add_parts(e0, p0, n, ids, stops, at, values, change, factor, times, z):
    """z += factor·times·(Σ change·part), and no part has a change any more; the work."""
    e, work = e0, 0
    for p in range(n):
        stop = e0 + stops[p0 + p]
        if change[p] != 0.0:
            own, v = factor * change[p], at[p0 + p] - e
            change[p] = 0.0
            work += stop - e
            if at[p0 + p] < 0 and times.size == 0:
                for f in range(e, stop):
                    z[ids[f]] += own
            else:
                for f in range(e, stop):
                    x = own if at[p0 + p] < 0 else own * values[v + f]
                    z[ids[f]] += x * times[ids[f]] if times.size else x
        e = stop
    return work


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
    ids, stops, at, terms = records.ids, records.stops, records.at, records.terms
    factors, ends = records.factors, records.ends
    score, change = np.empty(most), np.zeros(most)
    value, step = np.empty(size), np.empty(size)
    gain, linear, work, n = 0.0, 0.0, 0, 0
    for i in rows:
        m = held.count[i]
        if m == 0:
            continue
        e0, p0, t0 = records.first[i, 0], records.first[i, 1], records.first[i, 2]
        n_parts = records.length[i, 1]
        scores_of(e0, p0, n_parts, ids, stops, at, values, z, score)
        t = t0
        for k in range(m):
            s0, s1, stop = 0.0, 0.0, t0 + ends[i, k]
            while t + 2 <= stop:
                s0 += factors[t] * score[terms[t]]
                s1 += factors[t + 1] * score[terms[t + 1]]
                t += 2
            if t < stop:
                s0 += factors[t] * score[terms[t]]
                t += 1
            value[k] = held.q[i, k] - (s0 + s1)
        work += records.length[i, 0] + t - t0
        raised = raise_dual(held, i, value[:m], sigma, max_steps, tol, step[:m])
        if raised == 0.0:
            continue
        gain += raised
        t = t0
        for k in range(m):
            stop = t0 + ends[i, k]
            if step[k] != 0.0:
                linear += step[k] * held.q[i, k]
                for f in range(t, stop):
                    change[terms[f]] += step[k] * factors[f]
            t = stop
        if touched.size:
            e = e0
            for p in range(n_parts):
                stop = e0 + stops[p0 + p]
                if change[p] != 0.0:
                    for f in range(e, stop):
                        touched[n] = ids[f]
                        n += 1
                e = stop
        work += add_parts(e0, p0, n_parts, ids, stops, at, values, change, sigma, times, z)
    return gain, linear, work, n


@kernel
def gram_of_lists(rows, slots, records, values, held, times, dense):
    """Fill the rows and columns of the examples' Gram matrices that belong to these slots.

    `dense` has a 0 for each weight in use, and has so afterwards.
    """
    most = most_parts(records, rows)
    ids, stops, at, terms = records.ids, records.stops, records.at, records.terms
    factors, ends = records.factors, records.ends
    score, change = np.empty(most), np.zeros(most)
    for j in range(rows.size):
        i, slot = rows[j], slots[j]
        e0, p0, t0 = records.first[i, 0], records.first[i, 1], records.first[i, 2]
        n_parts = records.length[i, 1]
        for t in range(t0 + (ends[i, slot - 1] if slot > 0 else 0), t0 + ends[i, slot]):
            change[terms[t]] += factors[t]
        add_parts(e0, p0, n_parts, ids, stops, at, values, change, 1.0, times, dense)
        scores_of(e0, p0, n_parts, ids, stops, at, values, dense, score)
        t = t0
        for k in range(held.count[i]):
            total, stop = 0.0, t0 + ends[i, k]
            while t < stop:
                total += factors[t] * score[terms[t]]
                t += 1
            held.gram[i, slot, k] = held.gram[i, k, slot] = total
        for e in range(e0, e0 + records.length[i, 0]):
            dense[ids[e]] = 0.0


@kernel
def sum_of_lists(rows, share, records, values, out):
    """out += Σ share·p of these examples, by id; share[i, k] is 0 where there is no plane k."""
    change, once = np.zeros(most_parts(records, rows)), np.empty(0)
    for i in rows:
        t0, some = records.first[i, 2], False
        for k in range(share.shape[1]):
            if share[i, k] != 0.0:
                some = True
                first = t0 + (records.ends[i, k - 1] if k > 0 else 0)
                for t in range(first, t0 + records.ends[i, k]):
                    change[records.terms[t]] += share[i, k] * records.factors[t]
        if some:
            add_parts(
                records.first[i, 0], records.first[i, 1], records.length[i, 1], records.ids,
                records.stops, records.at, values, change, 1.0, once, out,
            )  # fmt: skip


@kernel
def tell_changes(ids, weight, times, sigma, z, told, w):
    """Add to w what has changed at these ids since it was last told."""
    for number in ids:
        change = z[number] - told[number]
        if change != 0.0:
            w[weight[number]] += change / (sigma * times[number] if times.size else sigma)
            told[number] = z[number]


@kernel
def changes(z, base, times, sigma):
    """u by id, of z = base + σ·times·u."""
    u = np.empty(z.size)
    for number in range(z.size):
        factor = sigma * times[number] if times.size else sigma
        u[number] = (z[number] - base[number]) / factor
    return u
