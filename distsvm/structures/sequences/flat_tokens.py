"""Sequences of Python objects as a few flat lists and arrays, made by loops in C."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, compress
from typing import Any, NamedTuple

import numpy as np

from distsvm.data.ragged import offsets

LISTS = frozenset({list, tuple})
BAGS = frozenset({list, tuple, set, frozenset})
DICTS = frozenset({dict})
NUMBERS = frozenset({float, int, bool})
MOST_COUNTED = 127
"""Names of a token whose repeats an int8 can count."""


class FlatTokens(NamedTuple):
    """Features of all tokens of some sequences, in order: names of any type, and their values.

    `entries` are the starts of the tokens among the names, `starts` those of the sequences among
    the tokens; `longest` is at least the number of names of every token.
    """

    names: list[Any]
    values: np.ndarray
    entries: np.ndarray
    starts: np.ndarray
    longest: int


def flat_tokens(inputs: Sequence[Any]) -> FlatTokens | None:
    """Return tokens that are all lists of names, or all dicts; None for other tokens.

    Texts of dicts are part of their names, and values of 0 are left out. Lists may have a name
    more than once; their values are int8 where no token has enough for a larger sum.
    """
    if not LISTS.issuperset(map(type, inputs)):
        return None
    tokens = list(chain.from_iterable(inputs))
    kinds = set(map(type, tokens))
    if not (BAGS.issuperset(kinds) or kinds == DICTS):
        return None
    lengths = list(map(len, tokens))
    starts, entries, longest = _starts(map(len, inputs)), _starts(lengths), max(lengths, default=0)
    names: list[Any] = list(chain.from_iterable(tokens))
    if kinds != DICTS:
        ones = np.ones(len(names), np.int8 if longest <= MOST_COUNTED else np.float64)
        return FlatTokens(names, ones, entries, starts, longest)
    given = list(chain.from_iterable(map(dict.values, tokens)))
    kinds = set(map(type, given))
    if str in kinds:
        if _may_meet(set(names)):
            return None
        names = [
            f"{name}:{value}" if type(value) is str else name
            for name, value in zip(names, given, strict=True)
        ]
        given = [1.0 if type(value) is str else value for value in given]
        kinds.remove(str)
    if not NUMBERS.issuperset(kinds):
        return None
    try:
        values = np.array(given, dtype=np.float64)
    except OverflowError:
        return None
    some = values != 0.0
    if not some.all():
        names, values, entries = list(compress(names, given)), values[some], offsets(some)[entries]
    return FlatTokens(names, values, entries, starts, longest)


def _may_meet(names: set[Any]) -> bool:
    """Return whether a name may be equal to another one with ":text" behind it."""
    return any(
        type(name) is not str
        or any(name[:place] in names for place, sign in enumerate(name) if sign == ":")
        for name in names
    )


def _starts(lengths: Any) -> np.ndarray:
    return np.fromiter(accumulate(lengths, initial=0), np.int64)
