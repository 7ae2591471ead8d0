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
    first: np.ndarray  # int64 (n, 3): where the record's ids, parts and terms start
    length: np.ndarray  # int64 (n, 3): how many it has
    used: np.ndarray  # int64 (3,): how many the arrays have
    live: np.ndarray  # int64 (3,): how many of these belong to a record


class Active(NamedTuple):
    """The weights that have an id."""

    weight: np.ndarray  # int64: by id
    uses: np.ndarray  # int32: parts of all records that have it, by id
    table: np.ndarray  # int32: ids by a hash of the weight; −1 is a free place
    counts: np.ndarray  # int64 (2,): ids, and those that have a use


@kernel
def part_ids(records, i, part):
    """Where the ids of a part of example i start and end."""
    start, p = records.first[i, 0], records.first[i, 1] + part
    return start + (records.stops[p - 1] if part > 0 else 0), start + records.stops[p]


@kernel
def plane_terms(records, i, k):
    """Where the terms of plane k of example i start and end."""
    start = records.first[i, 2]
    return start + (records.ends[i, k - 1] if k > 0 else 0), start + records.ends[i, k]


@kernel
def _place_of(number, size):
    return ((number * 0x1E3779B97F4A7C15) >> 24) & (size - 1)


@kernel
def _id_of(active, weight):
    """The id of a weight, which is given one if it has none."""
    place = _place_of(weight, active.table.size)
    while active.table[place] >= 0:
        if active.weight[active.table[place]] == weight:
            return active.table[place]
        place = (place + 1) & (active.table.size - 1)
    number = np.int32(active.counts[0])
    active.counts[0] += 1
    active.table[place], active.weight[number], active.uses[number] = number, weight, 0
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
def _begin(records, i, ends, renumber):
    """Where the example's new record starts; its old one is remembered in `ends`."""
    for k in range(ends.size):
        ends[k] = records.ends[i, k]
    renumber[:] = -1
    return records.used[0], records.used[1], records.used[2]


@kernel
def _add_part(records, i, old, start, renumber):
    """The new number of a part of the old record, which is copied when it is first needed."""
    if renumber[old] < 0:
        source = records.first[i, 1] + old
        begin, stop = part_ids(records, i, old)
        n = records.used[0]
        for e in range(begin, stop):
            records.ids[n] = records.ids[e]
            n += 1
        records.used[0] = n
        _name_part(records, start, records.at[source], records.key[source])
        renumber[old] = records.used[1] - start[1] - 1
    return renumber[old]


@kernel
def _name_part(records, start, at, key):
    """The ids of a part have been written: it is the record's next one."""
    p = records.used[1]
    records.stops[p] = records.used[0] - start[0]
    records.at[p], records.key[p] = at, key
    records.used[1] = p + 1


@kernel
def _add_term(records, part, factor):
    t = records.used[2]
    records.terms[t], records.factors[t] = part, factor
    records.used[2] = t + 1


@kernel
def _end(records, active, i, start, renumber):
    """The new record takes the place of the old one."""
    for old in range(records.length[i, 1]):
        if renumber[old] >= 0:
            continue
        begin, stop = part_ids(records, i, old)
        for e in range(begin, stop):
            number = records.ids[e]
            active.uses[number] -= 1
            if active.uses[number] == 0:
                active.counts[1] -= 1
    for c in range(3):
        records.live[c] += records.used[c] - start[c] - records.length[i, c]
        records.first[i, c], records.length[i, c] = start[c], records.used[c] - start[c]


@kernel
def put_planes(rows, slots, counts, planes, records, active):
    """Give each of these examples one plane more, in a new slot or in the place of another.

    counts[j] is how many planes the example had. Plane j has the terms planes.starts[j] …, and
    term t the weights planes.entries[t] ….
    """
    starts, key, factor, at, entries, weights = planes
    most, most_terms = 1, 1
    for j in range(rows.size):
        n = starts[j + 1] - starts[j]
        most, most_terms = max(most, records.length[rows[j], 1] + n), max(most_terms, n)
    size = 1
    while size < 2 * most:
        size *= 2
    table, number = np.empty(size, np.int32), np.empty(most_terms, np.int32)
    renumber, source = np.empty(most, np.int32), np.empty(most, np.int64)
    ends = np.empty(records.ends.shape[1], np.int32)
    for j in range(rows.size):
        i, n_old = rows[j], records.length[rows[j], 1]
        p0, n = records.first[i, 1], records.length[i, 1]
        size = 1
        while size < 2 * (n + starts[j + 1] - starts[j]):
            size *= 2
        table[:size] = -1
        for old in range(n):
            place = _place_of(records.key[p0 + old], size)
            while table[place] >= 0:
                place = (place + 1) & (size - 1)
            table[place] = old
        for t in range(starts[j], starts[j + 1]):
            place = _place_of(key[t], size)
            while table[place] >= 0:
                known = table[place]
                name = records.key[p0 + known] if known < n_old else key[source[known]]
                if name == key[t]:
                    break
                place = (place + 1) & (size - 1)
            if table[place] < 0:
                table[place], source[n] = n, t
                n += 1
            number[t - starts[j]] = table[place]
        start = _begin(records, i, ends, renumber[:n])
        t0, m = records.first[i, 2], max(counts[j], slots[j] + 1)
        for k in range(m):
            if k != slots[j]:
                for t in range(t0 + (ends[k - 1] if k > 0 else 0), t0 + ends[k]):
                    part = _add_part(records, i, records.terms[t], start, renumber)
                    _add_term(records, part, records.factors[t])
            else:
                for t in range(starts[j], starts[j + 1]):
                    known = number[t - starts[j]]
                    if known < n_old:
                        part = _add_part(records, i, known, start, renumber)
                    else:
                        if renumber[known] < 0:
                            renumber[known] = records.used[1] - start[1]
                            for e in range(entries[source[known]], entries[source[known] + 1]):
                                one = _id_of(active, weights[e])
                                if active.uses[one] == 0:
                                    active.counts[1] += 1
                                active.uses[one] += 1
                                records.ids[records.used[0]] = one
                                records.used[0] += 1
                            _name_part(records, start, at[source[known]], key[t])
                        part = renumber[known]
                    _add_term(records, part, factor[t])
            records.ends[i, k] = records.used[2] - start[2]
        _end(records, active, i, start, renumber)


@kernel
def keep_planes(rows, order, counts, records, active):
    """Of each of these examples keep counts[j] planes: those in the slots order[j, 0] … ."""
    most = 1
    for i in rows:
        most = max(most, records.length[i, 1])
    renumber, ends = np.empty(most, np.int32), np.empty(records.ends.shape[1], np.int32)
    for j in range(rows.size):
        i = rows[j]
        start = _begin(records, i, ends, renumber[: records.length[i, 1]])
        t0 = records.first[i, 2]
        for k in range(counts[j]):
            old = order[j, k]
            for t in range(t0 + (ends[old - 1] if old > 0 else 0), t0 + ends[old]):
                part = _add_part(records, i, records.terms[t], start, renumber)
                _add_term(records, part, records.factors[t])
            records.ends[i, k] = records.used[2] - start[2]
        _end(records, active, i, start, renumber)


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
def forget_unused(records, active):
    """Give new ids, in the same order, to the weights that have a use, and empty the table."""
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
