"""Tags of sequences in memory; one dictionary maps names to columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm.data.words import Features
from distsvm.oracles.predictor import Predictor
from distsvm.structures.sequences.flat_tokens import FlatTokens, flat_tokens
from distsvm.structures.sequences.kernels.token_entries import LONG
from distsvm.structures.sequences.oracle import SequenceOracle
from distsvm.structures.sequences.packing import in_order
from distsvm.structures.sequences.rows import SequenceRows
from distsvm.structures.sequences.word_columns import WordColumns
from distsvm.structures.sequences.words import WordFeatures

if TYPE_CHECKING:
    from distsvm.structures.sequences.task import SequenceTask

LOOKED_UP_WORDS = 1000
"""Up to here words are looked up one by one; the features of more are made together."""
MOST_KNOWN = 1 << 20
"""Names that are kept as Python objects, of about 150 bytes each."""
NONE, ABSENT = -1, -2


class KnownColumns:
    """The columns of feature names: a dict of all names, or of those in earlier calls."""

    def __init__(self, task: SequenceTask) -> None:
        self._task, names = task, task.dictionary
        self._has_all = names is not None and len(names) <= MOST_KNOWN
        self._column_of: dict[str, int] = {}
        if names is not None and self._has_all:
            self._column_of = dict(zip(names.tolist(), range(len(names)), strict=True))

    def __call__(self, names: list[Any]) -> np.ndarray | None:
        """Return the task's column of each name, −1 where it has none; None if a name is no str."""
        try:
            found = map(self._column_of.get, names, repeat(ABSENT))
            columns = np.fromiter(found, np.int32, len(names))
        except TypeError:  # what cannot be a key
            return None
        others = np.flatnonzero(columns == ABSENT)
        if others.size:
            absent = [names[i] for i in others.tolist()]
            if not {str}.issuperset(map(type, absent)):
                return None
            columns[others] = NONE if self._has_all else self._looked_up(absent)
        return columns

    def _looked_up(self, absent: list[str]) -> list[int]:
        distinct = list(dict.fromkeys(absent))
        column_of = dict(zip(distinct, self._task.columns_of(distinct).tolist(), strict=True))
        if len(self._column_of) + len(column_of) > MOST_KNOWN:
            self._column_of.clear()
        self._column_of.update(column_of)
        return [column_of[name] for name in absent]


class TagPredictor(Predictor):
    """Predicts sequences given as lists of feature names or dicts, or as named SequenceRows."""

    frame: SequenceOracle

    def __init__(self, task: SequenceTask, w: np.ndarray) -> None:
        super().__init__(task.oracle(task.shard([[]]), "margin"), w)
        self._task, self._columns = task, KnownColumns(task)
        self._words: WordColumns | None = None

    def bound(self, inputs: Any) -> SequenceOracle | None:
        if isinstance(inputs, SequenceRows):
            if inputs.names is None:
                return None
            values, own, entries = inputs.tokens.arrays()
            columns = self._columns(inputs.names.tolist())
            longest = int(np.diff(entries).max(initial=0))
            given = FlatTokens([], values, entries, inputs.starts, longest)
            columns = None if columns is None else columns[own]
        else:
            flat = flat_tokens(inputs) if isinstance(inputs, (list, tuple)) and inputs else None
            if flat is None:
                return None
            given, columns = flat, self._columns(flat.names)
        return None if columns is None else self._over(given, columns)

    def bound_words(
        self, sentences: Sequence[Sequence[str]], features: Features
    ) -> SequenceOracle | None:
        assert isinstance(features, WordFeatures)
        few = sum(map(len, sentences)) <= LOOKED_UP_WORDS
        if not few or features.hash_bits not in (None, self._task.hash_bits):
            return self.bound(features(sentences))
        words = self._words
        if words is None or words.templates is not features.templates:
            words = self._words = WordColumns(features.templates, self._columns)
        columns, given = words(sentences)
        return self._over(given, columns)

    def _over(self, given: FlatTokens, columns: np.ndarray) -> SequenceOracle | None:
        """The oracle of tokens with these columns, −1 for none."""
        if given.longest > LONG:
            return None  # what a longer token repeats is added up where shards are made
        if given.values.dtype.kind == "f" and not np.isfinite(given.values).all():
            return None
        task = self._task
        hashed, n = task.hash_bits is not None, task.n_columns
        tokens = in_order(given.values, columns, given.entries, given.longest, n, hashed)
        return self.frame.beside(task.mapped(tokens), given.starts)
