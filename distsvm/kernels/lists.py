"""The vectors p of held planes as flat lists: a record of each example, over the weights in use.

A plane is a signed sum of *parts* of its example, and a part is a run of weights, such as those of
one token's features at one label. Weights have compact ids, in the order in which they first came.
Whatever changes an example's planes writes its record anew behind the last one, so that parts stand
in the order in which its planes, slot by slot, first need them: sums over parts are the same
however the planes came there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel


class Records(NamedTuple):
    """The records of n examples, in any order, with room behind the last."""

    ids: np.ndarray  # uint32: the weights of each part
    stops: np.ndarray  # int32: where each part ends, counted from the record's first id
    at: np.ndarray  # int64: where the values of a part start; −1 where all are 1
    key: np.ndarray  # int64: what a part is called, once in each example
    terms: np.ndarray  # uint32: the parts of each plane, counted from the record's first
    factors: np.ndarray  # float64: how often
    ends: np.ndarray  # int32 (n, size): where each plane's terms end, counted from the first
    first: np.ndarray  # uint32 (n, 3): where the record's ids, parts and terms start
    length: np.ndarray  # int32 (n, 3): how many it has
    used: np.ndarray  # int64 (3,): how many the arrays have
    live: np.ndarray  # int64 (3,): how many of these belong to a record


class Active(NamedTuple):
    """The weights that have an id."""

    weight: np.ndarray  # int64: by id
    uses: np.ndarray  # int32: parts of all records that have it, by id
    table: np.ndarray  # int32: ids by a hash of the weight; −1 is a free place
    counts: np.ndarray  # int64 (2,): ids, and those that have a use


@kernel
def _place_of(number, size):
    return ((number * 0x1E3779B97F4A7C15) >> 24) & (size - 1)


@kernel
def _id_of(active, wanted):
    """The id of a weight, which is given one if it has none."""
    weight, table = active.weight, active.table
    place = _place_of(wanted, table.size)
    while table[place] >= 0:
        if weight[table[place]] == wanted:
            return table[place]
        place = (place + 1) & (table.size - 1)
    number = np.int32(active.counts[0])
    active.counts[0] += 1
    table[place], weight[number], active.uses[number] = number, wanted, 0
    return number


@kernel
def fill_table(active):
    """Write all ids into an empty table."""
    for number in range(active.counts[0]):
        place = _place_of(active.weight[number], active.table.size)
        while active.table[place] >= 0:
            place = (place + 1) & (active.table.size - 1)
        active.table[place] = number


@kernel
def write_records(rows, order, counts, planes, records, active):
    """Write the records of these examples anew, for the planes that they have from now on.

    Plane k of example rows[j], k < counts[j], is its old plane order[j, k], or the new one of the
    example where that is −1. New plane j has the terms starts[j] …, and term t the weights
    entries[t] … .
    """
    # All in one function: what is passed on costs more than what is done with it.
    starts, key, factor, at, entries, weights = planes
    ids, stops, part_at, part_key = records.ids, records.stops, records.at, records.key
    terms, factors, ends = records.terms, records.factors, records.ends
    uses = active.uses
    most, most_terms = 1, 1
    for j in range(rows.size):
        n = starts[j + 1] - starts[j]
        most, most_terms = max(most, records.length[rows[j], 1] + n), max(most_terms, n)
    size = 1
    while size < 2 * most:
        size *= 2
    table, number = np.empty(size, np.int32), np.empty(most_terms, np.int32)
    renumber, source = np.empty(most, np.int32), np.empty(most, np.int64)
    own_ends = np.zeros(1 + ends.shape[1], np.int64)
    n_ids, n_parts, n_terms = records.used[0], records.used[1], records.used[2]
    for j in range(rows.size):
        i = rows[j]
        e0, p0, t0 = records.first[i, 0], records.first[i, 1], records.first[i, 2]
        n_old = records.length[i, 1]
        n = n_old
        if starts[j] < starts[j + 1]:  # which parts does the new plane have in common with others?
            size = 1
            while size < 2 * (n + starts[j + 1] - starts[j]):
                size *= 2
            table[:size] = -1
            for old in range(n):
                place = _place_of(part_key[p0 + old], size)
                while table[place] >= 0:
                    place = (place + 1) & (size - 1)
                table[place] = old
            for t in range(starts[j], starts[j + 1]):
                place = _place_of(key[t], size)
                while table[place] >= 0:
                    known = table[place]
                    if key[t] == (part_key[p0 + known] if known < n_old else key[source[known]]):
                        break
                    place = (place + 1) & (size - 1)
                if table[place] < 0:
                    table[place], source[n] = n, t
                    n += 1
                number[t - starts[j]] = table[place]
        renumber[:n] = -1
        for k in range(ends.shape[1]):
            own_ends[k + 1] = ends[i, k]
        new_e, new_p, new_t = n_ids, n_parts, n_terms
        for k in range(counts[j]):
            old_plane = order[j, k]
            if old_plane >= 0:
                first, stop = t0 + own_ends[old_plane], t0 + own_ends[old_plane + 1]
            else:
                first, stop = starts[j], starts[j + 1]
            for t in range(first, stop):
                part = np.int64(terms[t]) if old_plane >= 0 else np.int64(number[t - first])
                if renumber[part] < 0:
                    renumber[part] = n_parts - new_p
                    if part < n_old:
                        p = p0 + part
                        for e in range(e0 + (stops[p - 1] if part > 0 else 0), e0 + stops[p]):
                            ids[n_ids] = ids[e]
                            n_ids += 1
                        part_at[n_parts], part_key[n_parts] = part_at[p], part_key[p]
                    else:
                        for e in range(entries[source[part]], entries[source[part] + 1]):
                            one = _id_of(active, weights[e])
                            active.counts[1] += uses[one] == 0
                            uses[one] += 1
                            ids[n_ids] = one
                            n_ids += 1
                        part_at[n_parts], part_key[n_parts] = at[source[part]], key[t]
                    stops[n_parts] = n_ids - new_e
                    n_parts += 1
                terms[n_terms] = renumber[part]
                factors[n_terms] = factors[t] if old_plane >= 0 else factor[t]
                n_terms += 1
            ends[i, k] = n_terms - new_t
        for old in range(n_old):
            if renumber[old] < 0:
                p = p0 + old
                for e in range(e0 + (stops[p - 1] if old > 0 else 0), e0 + stops[p]):
                    uses[ids[e]] -= 1
                    active.counts[1] -= uses[ids[e]] == 0
        new = (n_ids - new_e, n_parts - new_p, n_terms - new_t)
        for c in range(3):
            records.live[c] += new[c] - records.length[i, c]
            records.length[i, c] = new[c]
        records.first[i, 0], records.first[i, 1], records.first[i, 2] = new_e, new_p, new_t
    records.used[0], records.used[1], records.used[2] = n_ids, n_parts, n_terms


@kernel
def move_records(old, new):
    """Copy all records to arrays with more room; `first` and `used` change in place."""
    n_ids, n_parts, n_terms = 0, 0, 0
    for i in range(old.first.shape[0]):
        e0, p0, t0 = old.first[i, 0], old.first[i, 1], old.first[i, 2]
        old.first[i, 0], old.first[i, 1], old.first[i, 2] = n_ids, n_parts, n_terms
        for e in range(e0, e0 + old.length[i, 0]):
            new.ids[n_ids] = old.ids[e]
            n_ids += 1
        for p in range(p0, p0 + old.length[i, 1]):
            new.stops[n_parts], new.at[n_parts] = old.stops[p], old.at[p]
            new.key[n_parts] = old.key[p]
            n_parts += 1
        for t in range(t0, t0 + old.length[i, 2]):
            new.terms[n_terms], new.factors[n_terms] = old.terms[t], old.factors[t]
            n_terms += 1
    old.used[0], old.used[1], old.used[2] = n_ids, n_parts, n_terms


@kernel
def forget_unused(records, active, most):
    """Give new ids, in the same order, to the weights that have a use, and empty the table.

    Only where more than `most` have an id; whether it was done.
    """
    if active.counts[0] <= most:
        return False
    renumber, n = np.empty(active.counts[0], np.uint32), 0
    for number in range(active.counts[0]):
        if active.uses[number] > 0:
            active.weight[n], active.uses[n] = active.weight[number], active.uses[number]
            renumber[number] = n
            n += 1
    active.counts[0] = n
    active.table[:] = -1
    for i in range(records.first.shape[0]):
        start = records.first[i, 0]
        for e in range(start, start + records.length[i, 0]):
            records.ids[e] = renumber[records.ids[e]]
    return True


@kernel
def filled(by_id, order, sorted_weights, index, value):
    """Write the numbers that are not 0 and their weights, in the weights' order; how many."""
    n = 0
    for k in range(order.size):
        # Written in any case and kept if it is no zero: no branch to be guessed wrong.
        index[n], value[n] = sorted_weights[k], by_id[order[k]]
        n += value[n] != 0.0
    return n
