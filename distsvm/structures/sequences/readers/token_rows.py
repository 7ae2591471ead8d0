"""Rows of features of many tokens at once: the work depends on distinct words, not tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distsvm.data.features import SparseRows
from distsvm.data.readers.growing import GrowingRows
from distsvm.data.templates import (
    AFTER,
    BEFORE,
    BIAS,
    Templates,
    Term,
    escaped,
    hashed_columns,
    label_of,
)
from distsvm.structures.sequences.rows import numbers_as_they_come

TOKENS_AT_A_TIME = 1 << 14
FIRST_CODE = 2  # 0 and 1 are the places before and after a sentence


@dataclass(frozen=True, eq=False)
class Field:
    """A column of all tokens: token t has the text distinct[codes[t] − FIRST_CODE].

    The texts differ from each other; the codes are int32.
    """

    distinct: Sequence[str]
    codes: np.ndarray


def token_rows(
    templates: Templates,
    fields: dict[int | None, Field],
    starts: np.ndarray,
    hash_bits: int | None = None,
) -> tuple[SparseRows, np.ndarray | None]:
    """Return the features of all tokens, one row each, with columns that increase along a row.

    Parameters
    ----------
    templates : Templates
    fields : dict
        The words under None, and under k the column k, if the templates read it.
    starts : int64 array of shape (n + 1,)
        Sentence i has the tokens starts[i] … starts[i + 1] − 1.
    hash_bits : int, optional
        Columns are the names' hashes, 2^hash_bits in all, and the value counts the features that
        meet in one.

    Returns
    -------
    rows : SparseRows
    names : array of str (objects, as lengths differ widely), or None if they are hashed
    """
    batch = _Batch(fields, starts, hash_bits)
    features = [batch.feature(terms) for terms in templates.combinations]
    n_tokens = int(starts[-1])
    # All are 1, or small counts where hashed columns meet.
    rows = GrowingRows(np.int8 if len(features) < 128 else np.int32)
    for start in range(0, n_tokens, TOKENS_AT_A_TIME):
        stop = min(start + TOKENS_AT_A_TIME, n_tokens)
        table = np.stack([column[codes[start:stop]] for column, codes in features], axis=1)
        rows.extend(*_entries(table, hash_bits is not None), share=stop / n_tokens)
    values, entries, ends, _ = rows.finish()
    if hash_bits is not None:
        return SparseRows(values, entries, ends, 1 << hash_bits), None
    names = np.empty(len(batch.names), dtype=object)
    names[:] = batch.names
    return SparseRows(values, entries, ends, names.size), names


def _entries(table: np.ndarray, may_meet: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lengths, columns and values of rows; a column below 0 is no entry."""
    if may_meet:
        table.sort(axis=1)
        kept = table >= 0
        first = kept.copy()
        first[:, 1:] &= table[:, 1:] != table[:, :-1]
        places = np.flatnonzero(first[kept])
        counts = np.diff(places, append=np.count_nonzero(kept))
        return first.sum(axis=1), table[first].astype(np.int64), counts
    # Every template has its own columns, which follow those of the templates before.
    kept = table >= 0
    columns = table[kept].astype(np.int64)
    return kept.sum(axis=1), columns, np.ones(columns.size, dtype=np.int8)


class _Batch:
    """Numbers the features of a batch of sentences, one template after another."""

    def __init__(
        self, fields: dict[int | None, Field], starts: np.ndarray, hash_bits: int | None
    ) -> None:
        self.names: list[str] = []
        self._fields, self._starts, self._hash_bits = fields, starts, hash_bits
        self._sentence = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        self._shifted: dict[tuple[int | None, int], np.ndarray] = {}
        self._values: dict[tuple[str, int | None], tuple[list[str], np.ndarray]] = {}

    def feature(self, terms: tuple[Term, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return `column` and `codes`: token t has the feature column[codes[t]], none below 0."""
        if terms == (BIAS,):
            return self._columns([BIAS.label]), np.zeros_like(self._sentence)
        if len(terms) == 1:
            texts, value_of = self._value_of(terms[0])
            codes = self._codes(terms[0])
            seen = np.zeros(value_of.size, dtype=bool)
            seen[codes] = True
            own = value_of[seen]
            column_of = np.full(len(texts) + 1, -1, dtype=np.int32)  # the last is for no value
            column_of[own] = 0
            used = np.flatnonzero(column_of[:-1] == 0)
            label = label_of(terms)
            column_of[used] = self._columns([label + texts[v] for v in used.tolist()])
            column_of[-1] = -1
            column = np.full(value_of.size, -1, dtype=np.int32)
            column[seen] = column_of[own]
            return column, codes
        return self._combination(terms)

    def _combination(self, terms: tuple[Term, ...]) -> tuple[np.ndarray, np.ndarray]:
        parts = []
        for term in terms:
            texts, value_of = self._value_of(term)
            parts.append(([escaped(text) for text in texts], value_of[self._codes(term)]))
        known = np.logical_and.reduce([values >= 0 for _, values in parts])
        # Pairs of numbers as one number, made small again after every term.
        chosen = np.zeros((0, np.count_nonzero(known)), dtype=np.int64)
        code = np.zeros(chosen.shape[1], dtype=np.int64)
        first = np.zeros(min(1, code.size), dtype=np.int64)
        for texts, values in parts:
            values = values[known].astype(np.int64)
            chosen = np.vstack([chosen, values])
            _, first, code = np.unique(
                code * len(texts) + values, return_index=True, return_inverse=True
            )
        label, texts_of = label_of(terms), [texts for texts, _ in parts]
        names = [
            label + "&".join([texts[v] for texts, v in zip(texts_of, row, strict=True)])
            for row in chosen[:, first].T.tolist()
        ]
        codes = np.full(known.size, -1, dtype=np.int64)
        codes[known] = code
        return np.append(self._columns(names), np.int32(-1)), codes

    def _columns(self, names: list[str]) -> np.ndarray:
        """Return the columns of these names, which are all new."""
        if self._hash_bits is not None:
            return hashed_columns(names, self._hash_bits).astype(np.int32)
        self.names += names
        return np.arange(len(self.names) - len(names), len(self.names), dtype=np.int32)

    def _codes(self, term: Term) -> np.ndarray:
        """Return for each token the code, in the term's field, of the one at its distance."""
        key = (term.column, term.offset)
        if key not in self._shifted:
            codes = self._fields[term.column].codes
            if term.offset:
                place = np.arange(codes.size) + term.offset
                before = place < self._starts[self._sentence]
                after = place >= self._starts[self._sentence + 1]
                codes = codes[np.clip(place, 0, codes.size - 1)]
                codes[before], codes[after] = 0, 1
            self._shifted[key] = codes
        return self._shifted[key]

    def _value_of(self, term: Term) -> tuple[list[str], np.ndarray]:
        """Return the distinct values of a term, and the number of each code's value."""
        key = (term.attribute, term.argument)
        if key not in self._values:
            ends = [None, None] if term.is_affix else [BEFORE, AFTER]
            values = ends + term.values(self._fields[term.column].distinct)
            number_of = numbers_as_they_come()
            value_of = [-1 if value is None else number_of[value] for value in values]
            self._values[key] = list(number_of), np.array(value_of, dtype=np.int32)
        return self._values[key]
