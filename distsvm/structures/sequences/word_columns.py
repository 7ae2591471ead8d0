"""Columns of the features of words, kept for each word and its neighbours as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from distsvm.data.ragged import offsets
from distsvm.data.templates import Labelled, Templates, Term, labelled, named
from distsvm.structures.sequences.flat_tokens import FlatTokens

MOST_KEPT = 1 << 16
"""Words, or pairs of them, whose columns are kept, in some hundred bytes each."""
BEFORE, AFTER = 0, 1
"""Stand for the words before a sentence and after it; no word is a number."""


Words: TypeAlias = "tuple[str | int, ...]"
Kept: TypeAlias = "dict[Words, np.ndarray]"
Group: TypeAlias = "tuple[tuple[int, ...], list[Labelled], Kept]"


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
            together.setdefault(tuple({term.offset: None for term in terms}), []).append(
                labelled(terms)
            )
        self._groups: list[Group] = [(places, some, {}) for places, some in together.items()]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, FlatTokens]:
        """The known columns of all tokens, and all else about the tokens."""
        found: list[np.ndarray] = []
        for words in sentences:
            for t in range(len(words)):
                for places, templates, kept in self._groups:
                    key = tuple([_word_at(words, t + place) for place in places])
                    columns = kept.get(key)
                    found.append(
                        self._kept(places, templates, kept, key) if columns is None else columns
                    )
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        entries = offsets(sizes.reshape(-1, len(self._groups)).sum(axis=1))
        columns = np.concatenate([np.zeros(0, np.int32), *found])
        starts = offsets(np.fromiter(map(len, sentences), np.int64, len(sentences)))
        longest = int(np.diff(entries).max(initial=0))
        return columns, FlatTokens([], np.ones(columns.size, np.int8), entries, starts, longest)

    def _kept(
        self, places: tuple[int, ...], templates: list[Labelled], kept: Kept, key: Words
    ) -> np.ndarray:
        """The columns of these templates' features of these words, kept from now on."""
        word_at = dict(zip(places, key, strict=True))

        def value(term: Term) -> str | None:
            word = word_at[term.offset]
            return term.value(word) if isinstance(word, str) else term.beyond(word == BEFORE)

        columns = self._columns(named(templates, value))
        assert columns is not None  # as all names are str
        if self._n_kept >= MOST_KEPT:
            self._n_kept = 0
            for _, _, others in self._groups:
                others.clear()
        self._n_kept += 1
        kept[key] = columns = columns[columns >= 0]
        return columns


def _word_at(words: Sequence[str], place: int) -> str | int:
    return BEFORE if place < 0 else AFTER if place >= len(words) else words[place]
