"""Features of plain words, by the templates of a model's training files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.ragged import offsets
from distsvm.data.templates import Templates, as_templates
from distsvm.errors import DataError
from distsvm.structures.sequences import STRUCTURE
from distsvm.structures.sequences.readers.token_rows import FIRST_CODE, Field, token_rows
from distsvm.structures.sequences.rows import SequenceRows, pack_sequences

FEW_WORDS = 100
"""Up to here features are made one by one: those of many words at once take a while to begin."""


@dataclass(frozen=True)
class WordFeatures:
    """Makes the features of all words of some sentences, as from a file of one column."""

    templates: Templates
    hash_bits: int | None

    def __call__(self, sentences: Sequence[Sequence[str]]) -> SequenceRows:
        words = [word for sentence in sentences for word in sentence]
        if self.hash_bits is None and len(words) <= FEW_WORDS:
            return pack_sequences([self.templates.features(sentence) for sentence in sentences])
        distinct = list(dict.fromkeys(words))
        number = {word: code for code, word in enumerate(distinct, FIRST_CODE)}
        codes = np.array([number[word] for word in words], dtype=np.int32)
        starts = offsets(np.array([len(sentence) for sentence in sentences], dtype=np.int64))
        fields: dict[int | None, Field] = {None: Field(distinct, codes)}
        rows, names = token_rows(self.templates, fields, starts, self.hash_bits)
        return SequenceRows(rows, starts, names)


def features_of_words(notes: Mapping[str, Any] | None) -> WordFeatures:
    """Return the function that makes the features of a model's notes on its files.

    Notes without templates are refused, and templates that read more than words.
    """
    format = None if notes is None else STRUCTURE.formats.get(notes["kind"])
    if notes is None or format is None or "templates" not in format.features:
        raise DataError(
            "the model has no templates to make features of words, as it was not trained on "
            "CoNLL or CoNLL-U files; give the features of each token"
        )
    options = notes["options"]
    templates = as_templates(options.get("templates", "default"))
    if templates.columns:
        raise DataError(
            f"the model's templates read column {templates.columns[0]}, which plain words do not "
            "have; give a file with all columns of training"
        )
    return WordFeatures(templates, options.get("hash_bits"))
