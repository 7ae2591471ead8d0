"""A block of lines of columns at once, without a loop over lines: threads read at the same time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from distsvm.data.ragged import offsets, spread
from distsvm.structures.sequences.names import Names, equal_names

NEW_DOCUMENT = b"-DOCSTART-"
NO_WORD = re.compile(rb"[0-9]+(-|\.)[0-9]+")  # the numbers of ranges and of empty nodes
NEWLINE, SPACES, DIGITS = 10, np.frombuffer(b" \t\x0b\x0c", np.uint8), (48, 57)


class Block(NamedTuple):
    """The words of a block of lines.

    Column k has the texts distinct[k], in the order in which they come; word t has number[k][t].
    """

    distinct: dict[int, list[bytes]]
    number: dict[int, np.ndarray]
    n_others: int  # lines that are no words but ranges or empty nodes
    words_before: np.ndarray  # each blank line
    others_before: np.ndarray


def read_block(
    text: bytes,
    separator: bytes | None,
    comment: bytes | None,
    numbered: bool,
    used: Iterable[int],
    is_wrong: Callable[[int], object],
) -> Block | None:
    """The words of a text of whole lines; None where a line is not like the others.

    Then the lines are to be read one by one, which names what is wrong with which of them, if it is
    anything. `is_wrong` says so of a number of columns.
    """
    if separator is None or len(separator) != 1 or (comment is not None and len(comment) != 1):
        return None
    if b"\r" in text or NEW_DOCUMENT in text:
        return None
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    starts = np.append(0, ends[:-1] + 1)
    first = data[starts]
    blank = np.flatnonzero(starts == ends)
    lines = np.flatnonzero((starts < ends) & (first != comment[0] if comment else True))
    if not lines.size or np.isin(first, SPACES).any():
        return None
    starts, ends = starts[lines], ends[lines]
    separators = np.flatnonzero(data == separator[0])
    at = np.searchsorted(separators, starts)
    lengths = np.searchsorted(separators, ends) - at
    n_columns = int(lengths[0]) + 1
    if (lengths != lengths[0]).any() or is_wrong(n_columns):
        return None

    def bounds(column: int) -> tuple[np.ndarray, np.ndarray]:
        k = column % n_columns
        start = starts if k == 0 else separators[at + k - 1] + 1
        return start, ends if k == n_columns - 1 else separators[at + k]

    is_word = np.ones(lines.size, dtype=bool)
    if numbered:
        start, stop = bounds(0)
        is_word = _are_digits(data, start, stop)
        others = np.flatnonzero(~is_word)
        if not all(NO_WORD.fullmatch(text, start[i], stop[i]) for i in others.tolist()):
            return None
    if not is_word.any():
        return None
    distinct, number = {}, {}
    for column in used:
        start, stop = (places[is_word] for places in bounds(column))
        found = _distinct(data, start, stop)
        if found is None:
            return None
        distinct[column], number[column] = found
    before = [np.searchsorted(lines[some], blank) for some in (is_word, ~is_word)]
    return Block(distinct, number, int(np.sum(~is_word)), *before)


def _are_digits(data: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    lengths = stop - start
    letters = data[spread(start, lengths)]
    others = np.repeat(np.arange(start.size), lengths)[
        (letters < DIGITS[0]) | (letters > DIGITS[1])
    ]
    found = lengths > 0
    found[others] = False
    return found


def _distinct(
    data: np.ndarray, start: np.ndarray, stop: np.ndarray
) -> tuple[list[bytes], np.ndarray] | None:
    """The distinct texts from these places on, and the number of each; None if one is empty."""
    lengths = stop - start
    if not lengths.all():
        return None
    every = Names(data[spread(start, lengths)], offsets(lengths))
    _, first, group = np.unique(every.keys, return_index=True, return_inverse=True)
    if not equal_names(every, np.arange(start.size), every, first[group]).all():
        return None  # two texts with one key
    order = np.argsort(first)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return every[first[order]].raw(), rank[group]
