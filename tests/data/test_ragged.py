"""Ragged rows behave like lists of arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data.ragged import Ragged, RaggedSlots

lists = st.lists(st.lists(st.integers(0, 50), max_size=6), max_size=8)


def rows_of(ragged):
    return [ragged.row(i).tolist() for i in range(len(ragged))]


@given(lists, st.data())
def test_rows_are_those_of_the_lists_in_any_order(rows, data):
    ragged = Ragged.of(rows, np.int16)
    assert rows_of(ragged) == rows
    picks = st.lists(st.integers(0, len(rows) - 1), max_size=10) if rows else st.just([])
    which = np.array(data.draw(picks), dtype=np.int64)
    assert rows_of(ragged[which]) == [rows[i] for i in which]


@given(lists)
def test_keys_are_equal_for_equal_rows_only(rows):
    keys = Ragged.of(rows, np.int16).keys().tolist()
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert (keys[i] == keys[j]) == (a == b)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 3), st.data())
def test_slots_hold_what_was_put_into_them_last(lengths, size, data):
    slots = RaggedSlots(np.array(lengths), size, np.int16)
    held = {i: [0] * lengths[i // size] for i in range(len(lengths) * size)}
    for _ in range(4):
        number = st.integers(0, len(lengths) * size - 1)
        which = data.draw(st.lists(number, unique=True, max_size=5))
        rows = [[data.draw(st.integers(0, 9)) for _ in held[i]] for i in which]
        slots[np.array(which, dtype=np.int64)] = Ragged.of(rows, np.int16)
        held |= dict(zip(which, rows, strict=True))
    every = np.arange(len(lengths) * size)
    assert rows_of(slots[every]) == list(held.values())
