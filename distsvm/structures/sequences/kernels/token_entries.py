"""Tokens' entries put in order: names given twice are one entry, columns increase along a row."""

from __future__ import annotations

from distsvm.kernels.options import kernel

LONG = 256
"""Entries of a token from which on another sort than that of order_tokens is faster."""


@kernel
def add_repeats(columns, values, entries, last):
    """Make one entry of those of a token that have the same column, at the place of the first.

    `entries` are the starts of the tokens, `last` has −1 for every column. All arrays but `last`
    are changed, and hold what is left in front. Values are added in the order of the entries.
    """
    n = 0
    for t in range(entries.size - 1):
        first = n
        start, stop = entries[t], entries[t + 1]
        entries[t] = first
        for e in range(start, stop):
            j = columns[e]
            if last[j] >= first:
                values[last[j]] += values[e]
            else:
                columns[n], values[n], last[j] = j, values[e], n
                n += 1
    entries[entries.size - 1] = n


@kernel
def order_tokens(columns, values, entries):
    """Sort each token's entries by column, drop those below 0 and add up those of one column.

    All arrays are changed, and hold what is left in front. A token's entries are few: an insertion
    sort, which keeps the order of equal columns.
    """
    n = 0
    start = entries[0]
    for t in range(entries.size - 1):
        stop = entries[t + 1]
        first = n
        for e in range(start, stop):
            j, x = columns[e], values[e]
            if j < 0:
                continue
            place = n
            while place > first and columns[place - 1] > j:
                place -= 1
            if place > first and columns[place - 1] == j:
                values[place - 1] += x
                continue
            for p in range(n, place, -1):
                columns[p], values[p] = columns[p - 1], values[p - 1]
            columns[place], values[place] = j, x
            n += 1
        start = stop
        entries[t + 1] = n
    entries[0] = 0
