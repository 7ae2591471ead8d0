"""Sequences of tokens with sparse features, as the inputs of a shard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.data.features import SparseRows
from distsvm.data.ragged import Ragged, offsets, spread
from distsvm.data.shard import Names
from distsvm.errors import DataError
from distsvm.structures.sequences.flat_tokens import FlatTokens, flat_tokens
from distsvm.structures.sequences.kernels import token_entries
from distsvm.structures.sequences.names import Names as EncodedNames


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The inputs of n sequences: sequence i has the tokens starts[i] … starts[i + 1] − 1.

    Parameters
    ----------
    tokens : SparseRows
        One row of features a token.
    starts : int64 array of shape (n + 1,)
    names : array of str, or None
        The names of the columns in the shard's own numbering, because the reader of one shard does
        not know the other shards. None where columns have the same meaning in all shards (hashed
        features, SVM-HMM files).
    """

    tokens: SparseRows
    starts: np.ndarray
    names: np.ndarray | None

    @cached_property
    def encoded_names(self) -> EncodedNames:
        """The names, which must not be None, as bytes."""
        assert self.names is not None
        return EncodedNames.of(self.names.tolist())

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_rows(self) -> int:
        return self.starts.size - 1

    @property
    def nbytes(self) -> int:
        return self.tokens.nbytes + self.starts.nbytes

    def take(self, which: np.ndarray) -> SequenceRows:
        """Return a copy of the sequences with these numbers."""
        lengths = np.diff(self.starts)[which]
        tokens = self.tokens.take(spread(self.starts[which], lengths))
        return SequenceRows(tokens, offsets(lengths), self.names)

    def joined(self, others: Sequence[SequenceRows]) -> SequenceRows:
        """Return a copy of these sequences and those of the others."""
        parts = [self, *others]
        names, tokens = self.names, [part.tokens for part in parts]
        if names is not None:
            names, numbers = _merged([part.names for part in parts if part.names is not None])
            tokens = [
                SparseRows(own.values, number[own.columns], own.starts, names.size)
                for own, number in zip(tokens, numbers, strict=True)
            ]
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        return SequenceRows(tokens[0].joined(tokens[1:]), offsets(lengths), names)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the sequences as named arrays and notes; see distsvm.data.shard_arrays."""
        arrays, notes = self.tokens.to_arrays()
        names = {} if self.names is None else _texts(self.names)
        return arrays | {"sequences": self.starts} | names, notes

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]
    ) -> SequenceRows:
        """Return the sequences from the result of to_arrays; bad indices raise a ValueError."""
        tokens = SparseRows.from_arrays(arrays, notes)
        checks.starts("sequences", arrays["sequences"], tokens.n_rows)
        names = _names(arrays) if "names_bytes" in arrays else None
        return cls(tokens, arrays["sequences"], names)


@dataclass(frozen=True, eq=False)
class TagRows:
    """The tags of n sequences, numbered in the shard's own order of `names`."""

    codes: Ragged
    names: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, which: np.ndarray) -> TagRows:
        """Return a copy of the tags of the sequences with these numbers."""
        return TagRows(self.codes[which], self.names)

    def joined(self, others: Sequence[TagRows]) -> TagRows:
        """Return a copy of these tags and those of the others."""
        parts = [self, *others]
        names, numbers = _merged([part.names for part in parts])
        codes = [number[part.codes.values] for part, number in zip(parts, numbers, strict=True)]
        lengths = np.concatenate([part.codes.lengths for part in parts])
        dtype = self.codes.values.dtype
        return TagRows(Ragged(np.concatenate(codes).astype(dtype), offsets(lengths)), names)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the tags as named arrays; see distsvm.data.shard_arrays."""
        tags = {"tags": self.codes.values, "tag_starts": self.codes.starts}
        return tags | _texts(self.names), {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> TagRows:
        """Return the tags from the result of to_arrays; bad indices raise a ValueError."""
        names = _names(arrays)
        checks.within("tags", arrays["tags"], 0, names.size)
        checks.starts("tag_starts", arrays["tag_starts"], arrays["tags"].size)
        return cls(Ragged(arrays["tags"], arrays["tag_starts"]), names)


def _texts(texts: np.ndarray) -> dict[str, np.ndarray]:
    raw = [str(text).encode("utf-8", "surrogatepass") for text in texts.tolist()]
    lengths = np.fromiter(map(len, raw), np.int64, len(raw))
    return {"names_bytes": np.frombuffer(b"".join(raw), np.uint8), "names_ends": offsets(lengths)}


def _names(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    raw, ends = arrays["names_bytes"].tobytes(), arrays["names_ends"].tolist()
    names = np.empty(len(ends) - 1, dtype=object)
    names[:] = [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(ends)]
    return names


def _merged(own: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return all names, the first list's in its order, and the numbers of each list's names."""
    number = {name: i for i, name in enumerate(dict.fromkeys(np.concatenate(own).tolist()))}
    numbers = [np.array([number[name] for name in names.tolist()], np.int32) for names in own]
    return np.array(list(number), dtype=np.result_type(*own)), numbers


def pack_sequences(inputs: Sequence[Sequence[Any]], names: Names | None = None) -> SequenceRows:
    """Return lists of tokens as SequenceRows; messages call the sequences by `names`.

    A token is a list of feature names, each of value 1 (a name given twice counts twice), or a
    dict of names to values: a number, True or False, or a text, which becomes the feature
    "name:text" of value 1, as python-crfsuite has it. Features of value 0 are left out.
    """
    given = flat_tokens(inputs)
    packed = None if given is None else _numbered(given)
    return packed or _packed_one_by_one(inputs, names or Names(range(len(inputs))))


def _numbered(given: FlatTokens) -> SequenceRows | None:
    """Return the sequences with numbered names; None where a value needs its own error."""
    number_of = numbers_as_they_come()
    try:
        columns = np.fromiter(map(number_of.__getitem__, given.names), np.int32, len(given.names))
    except TypeError:  # a name that cannot be a key
        return None
    if not {str}.issuperset(map(type, number_of)):
        return None
    values, entries = given.values, given.entries
    token_entries.add_repeats(columns, values, entries, np.full(len(number_of), -1))
    n = int(entries[-1])
    columns, values = columns[:n], values[:n]
    values = values.astype(np.int8 if (values == 1).all() else np.float64)
    names = np.empty(len(number_of), dtype=object)
    names[:] = list(number_of)
    return SequenceRows(SparseRows(values, columns, entries, names.size), given.starts, names)


def numbers_as_they_come() -> defaultdict[Any, int]:
    """Return a dictionary that gives a new key the next number on its first use."""
    number_of: defaultdict[Any, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    return number_of


def _packed_one_by_one(inputs: Sequence[Sequence[Any]], names: Names) -> SequenceRows:
    """Return tokens of any kinds as SequenceRows; an error names the token."""
    number_of: dict[str, int] = {}
    columns: list[int] = []
    values: list[float] = []
    entries, starts = [0], [0]
    for example, tokens in enumerate(inputs):
        if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
            raise DataError(f"{names[example]}: {tokens!r} is no list of tokens")
        for place, token in enumerate(tokens):
            for name, value in names.call(example, _token_features, token, place):
                columns.append(number_of.setdefault(name, len(number_of)))
                values.append(value)
            entries.append(len(columns))
        starts.append(len(entries) - 1)
    stored = np.array(values, dtype=np.float64)
    if (stored == 1.0).all():  # the usual case, in an eighth of the memory
        stored = stored.astype(np.int8)
    rows = SparseRows(
        stored, np.array(columns, dtype=np.int32), np.array(entries, np.int64), len(number_of)
    )
    return SequenceRows(rows, np.array(starts, np.int64), np.array(list(number_of), dtype=object))


def pack_tags(outputs: Sequence[Sequence[str]], names: Names | None = None) -> TagRows:
    """Return lists of str as TagRows; messages call the sequences by `names`."""
    names = names or Names(range(len(outputs)))
    if not {list, tuple}.issuperset(map(type, outputs)):
        outputs = [_tag_list(tags, names, example) for example, tags in enumerate(outputs)]
    if not {str}.issuperset(map(type, chain.from_iterable(outputs))):
        _check_tags(outputs, names)
    number_of, lengths = numbers_as_they_come(), np.array(list(map(len, outputs)), np.int64)
    codes = np.array(list(map(number_of.__getitem__, chain.from_iterable(outputs))), np.int32)
    return TagRows(Ragged(codes, offsets(lengths)), np.array(list(number_of), dtype=str))


def _tag_list(tags: Any, names: Names, example: int) -> Sequence[Any]:
    if isinstance(tags, (str, bytes)) or not isinstance(tags, Iterable):
        raise DataError(f"{names[example]}: {tags!r} is no list of tags")
    return list(tags)


def _check_tags(outputs: Sequence[Sequence[Any]], names: Names) -> None:
    for example, tags in enumerate(outputs):
        for tag in tags:
            if not isinstance(tag, str):
                kind = type(tag).__name__
                raise DataError(f"{names[example]}: the tag {tag!r} is of type {kind}, not str")


def _token_features(token: Any, place: int) -> Iterable[tuple[str, float]]:
    """Return the features of one token; the values of equal names are added up."""
    where = f"token {place}"
    if isinstance(token, (str, bytes)) or not isinstance(token, Iterable):
        raise DataError(f"{where}: {token!r} is no dict or list of features")
    totals: dict[str, float] = {}
    for name in token:
        value = token[name] if isinstance(token, dict) else 1.0
        if not isinstance(name, str):
            raise DataError(f"{where}: the feature name {name!r} is no str")
        if isinstance(value, str):
            name, value = f"{name}:{value}", 1.0
        try:
            totals[name] = totals.get(name, 0.0) + float(value)
        except (TypeError, ValueError):
            raise DataError(f"{where}: feature {name!r} is {value!r}, not a number") from None
    return ((name, value) for name, value in totals.items() if value != 0.0)
