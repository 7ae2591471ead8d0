"""Scores of predicted tags: by tokens, by sequences, and by entities where tags are BIO."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from distsvm.data.ragged import Ragged
from distsvm.errors import DataError
from distsvm.messages import Summed
from distsvm.structures.sequences.rows import TagRows

OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
KINDS = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "E": END, "S": SINGLE}
BIO = re.compile(r"O|[BIES](-.*)?", re.DOTALL)

Tags: TypeAlias = "TagRows | Sequence[Sequence[str]]"


@dataclass(frozen=True)
class EntityCounts(Summed):
    """Entities of one type, or of all: in the gold tags, in the predicted ones, in both."""

    n_gold: int = 0
    n_predicted: int = 0
    n_correct: int = 0

    @property
    def precision(self) -> float:
        """Correct among predicted; 0 if none is predicted."""
        return self.n_correct / max(1, self.n_predicted)

    @property
    def recall(self) -> float:
        """Correct among gold; 0 if there is none."""
        return self.n_correct / max(1, self.n_gold)

    @property
    def f1(self) -> float:
        """2·precision·recall / (precision + recall); 0 if both are."""
        return 2 * self.n_correct / max(1, self.n_gold + self.n_predicted)


Entities: TypeAlias = "dict[str, EntityCounts] | None"


def _types_added(a: Entities, b: Entities) -> Entities:
    if a is None or b is None:
        return None
    none = EntityCounts()
    return {t: a.get(t, none) + b.get(t, none) for t in sorted({*a, *b})}


@dataclass(frozen=True)
class TagScores(Summed):
    """Counts over sequences; those of two shards are added to those of both.

    `by_type` has the entities of each type, and is None where tags are not BIO.
    """

    n_sequences: int = 0
    n_exact: int = 0
    n_tokens: int = 0
    n_correct: int = 0
    by_type: Entities = field(default_factory=dict)

    RULES: ClassVar = {"by_type": _types_added}

    @property
    def accuracy(self) -> float:
        """The share of tokens whose tag is right."""
        return self.n_correct / max(1, self.n_tokens)

    @property
    def exact(self) -> float:
        """The share of sequences all of whose tags are right."""
        return self.n_exact / max(1, self.n_sequences)

    @property
    def entities(self) -> EntityCounts | None:
        """The counts of all types together (micro average), None where tags are not BIO."""
        return None if self.by_type is None else sum(self.by_type.values(), EntityCounts())


def score_tags(gold: Tags, predicted: Tags) -> TagScores:
    """Compare tags with the gold tags, as conlleval does.

    Parameters
    ----------
    gold, predicted : TagRows, or a list of lists of str
        Tags of the same sequences; a tag that only one side knows is no error.

    Notes
    -----
    Entities are counted where all names are BIO (see is_bio), and are correct if first token, last
    token and type are. As in conlleval, an entity begins at every B, and at an I after O, after
    another type or at the beginning of a sequence; it ends before the next beginning, before O and
    with the sequence. E and S end an entity.
    """
    right, guess = as_tag_rows(gold), as_tag_rows(predicted)
    _check_lengths(right.codes, guess.codes)
    number: dict[str, int] = {}
    right_codes, guess_codes = (
        np.array([number.setdefault(str(n), len(number)) for n in rows.names], np.int64)[
            rows.codes.values
        ]
        for rows in (right, guess)
    )
    starts = right.codes.starts
    equal = right_codes == guess_codes
    wrong_before = np.concatenate([[0], np.cumsum(~equal)])
    return TagScores(
        n_sequences=len(right),
        n_exact=int(np.count_nonzero(wrong_before[starts[1:]] == wrong_before[starts[:-1]])),
        n_tokens=equal.size,
        n_correct=int(np.count_nonzero(equal)),
        by_type=_by_type(list(number), right_codes, guess_codes, starts),
    )


def is_bio(names: Sequence[str]) -> bool:
    """Return whether all tags are O, or B, I, E or S, alone or with a type as in B-LOC."""
    return all(BIO.fullmatch(str(name)) for name in names)


def as_tag_rows(tags: Tags) -> TagRows:
    """Return lists of tags as codes."""
    if isinstance(tags, TagRows):
        return tags
    number: dict[str, int] = {}
    codes = [[number.setdefault(str(tag), len(number)) for tag in row] for row in tags]
    return TagRows(Ragged.of(codes, np.int32), np.array(list(number), dtype=object))


def _by_type(
    names: list[str], right: np.ndarray, guess: np.ndarray, starts: np.ndarray
) -> dict[str, EntityCounts] | None:
    if not is_bio(names):
        return None
    kinds = np.array([KINDS[name[0]] for name in names], dtype=np.int8)
    type_names = [name.partition("-")[2] for name in names]
    number = {name: i for i, name in enumerate(sorted(set(type_names)))}
    types = np.array([number[name] for name in type_names], dtype=np.int64)
    n_gold, n_predicted, n_correct = np.zeros((3, len(number)), dtype=np.int64)
    if right.size:
        found = [_entities(kinds[tags], types[tags], starts) for tags in (right, guess)]
        (first, last, kind), (its_first, its_last, its_kind) = found
        _, i, j = np.intersect1d(first, its_first, assume_unique=True, return_indices=True)
        both = i[(last[i] == its_last[j]) & (kind[i] == its_kind[j])]
        n_gold, n_predicted, n_correct = (
            np.bincount(which, minlength=len(number)) for which in (kind, its_kind, kind[both])
        )
    counts = zip(n_gold.tolist(), n_predicted.tolist(), n_correct.tolist(), strict=True)
    pairs = zip(number, (EntityCounts(*three) for three in counts), strict=True)
    return {name: count for name, count in pairs if count != EntityCounts()}


def _entities(
    kind: np.ndarray, type_: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First token, last token and type of each entity, in order."""
    # As if an O stood before every sequence and after it.
    edges = starts[:-1][np.diff(starts) > 0]
    before = np.concatenate([[OUTSIDE], kind[:-1]])
    before[edges] = OUTSIDE
    other_type = np.concatenate([[True], type_[1:] != type_[:-1]])
    inside = kind != OUTSIDE
    begins = inside & (
        (kind == BEGIN) | (kind == SINGLE) | (before == OUTSIDE) | (before >= END) | other_type
    )
    ends = inside.copy()
    ends[:-1] &= begins[1:] | ~inside[1:] | (before[1:] == OUTSIDE)
    first = np.flatnonzero(begins)
    return first, np.flatnonzero(ends), type_[first]


def _check_lengths(right: Ragged, guess: Ragged) -> None:
    if len(right) != len(guess):
        raise DataError(f"{len(guess)} predicted sequences for {len(right)} gold ones")
    bad = np.flatnonzero(right.lengths != guess.lengths)
    if bad.size:
        raise DataError(
            f"sequence {bad[0]}: {guess.lengths[bad[0]]} predicted tags for "
            f"{right.lengths[bad[0]]} gold ones"
        )
