"""Columns of the features of words, kept for each word and its neighbours as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from distsvm.data.ragged import offsets
from distsvm.data.templates import Labelled, Templates, Term, labelled, named
from distsvm.structures.sequences.flat_tokens import FlatTokens

MOST_KEPT = 1 << 16
"""Words, or pairs of them, whose columns are kept, in some hundred bytes each."""
BEFORE, AFTER = 0, 1
"""Stand for the words before a sentence and after it; no word is a number."""

Words: TypeAlias = "str | int | tuple[str | int, ...]"


class Group(NamedTuple):
    """The templates that look at the same places, and the columns of the words there so far."""

    places: tuple[int, ...]
    words_of: Callable[[list[str | int]], Words]
    """The word at the place, or the words at the places, of those around a token."""
    templates: list[Labelled]
    kept: dict[Words, np.ndarray]


class WordColumns:
    """The columns of all tokens of sentences in words.

    The templates that look at the same places give the same features wherever the same words stand
    there, so that their columns are found once.
    """

    def __init__(
        self, templates: Templates, columns: Callable[[list[str]], np.ndarray | None]
    ) -> None:
        self.templates, self._columns, self._n_kept = templates, columns, 0
        together: dict[tuple[int, ...], list[Labelled]] = {}
        for terms in templates.combinations:
            places = tuple({term.offset: None for term in terms})
            together.setdefault(places, []).append(labelled(terms))
        every = [0, *(place for places in together for place in places)]
        self._before, self._after = -min(every), max(every)
        self._groups = [
            Group(places, itemgetter(*(self._before + place for place in places)), some, {})
            for places, some in together.items()
        ]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, FlatTokens]:
        """The known columns of all tokens, and all else about the tokens."""
        found: list[Any] = []
        missing: list[tuple[int, Group, Words]] = []
        width = self._before + 1 + self._after
        for words in sentences:
            around = [BEFORE] * self._before + list(words) + [AFTER] * self._after
            for t in range(len(words)):
                here = around[t : t + width]
                for group in self._groups:
                    key = group.words_of(here)
                    columns = group.kept.get(key)
                    if columns is None:
                        missing.append((len(found), group, key))
                    found.append(columns)
        if missing:
            self._fill(found, missing)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        entries = offsets(sizes.reshape(-1, len(self._groups)).sum(axis=1))
        columns = np.concatenate([np.zeros(0, np.int32), *found])
        starts = offsets(np.fromiter(map(len, sentences), np.int64, len(sentences)))
        longest = int(np.diff(entries).max(initial=0))
        return columns, FlatTokens([], np.ones(columns.size, np.int8), entries, starts, longest)

    def _fill(self, found: list[Any], missing: list[tuple[int, Group, Words]]) -> None:
        """Find the columns of words that are not kept yet, all at once, and keep them."""
        names: list[str] = []
        ends = [0]
        for _, group, key in missing:
            names += named(group.templates, _values(group, key))
            ends.append(len(names))
        columns = self._columns(names)
        assert columns is not None  # as all names are str
        if self._n_kept + len(missing) > MOST_KEPT:
            self._n_kept = 0
            for group in self._groups:
                group.kept.clear()
        self._n_kept += len(missing)
        for (number, group, key), (start, stop) in zip(missing, pairwise(ends), strict=True):
            own = columns[start:stop]
            found[number] = group.kept[key] = own[own >= 0]


def _values(group: Group, key: Words) -> Callable[[Term], str | None]:
    """The values of terms where these are the words at the group's places."""
    word_at = dict(zip(group.places, key if isinstance(key, tuple) else (key,), strict=True))

    def value(term: Term) -> str | None:
        word = word_at[term.offset]
        return term.value(word) if isinstance(word, str) else term.beyond(word == BEFORE)

    return value
