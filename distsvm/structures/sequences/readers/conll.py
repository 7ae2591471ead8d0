"""CoNLL files: one token a line in columns, a blank line after each sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm.data.files import Paths, find_files
from distsvm.data.ragged import Ragged
from distsvm.data.readers.lines import Part, Starts, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import cut_sentences, sentence_starts
from distsvm.data.shard import Shard
from distsvm.data.templates import DEFAULT, Templates, as_templates
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import whole
from distsvm.structures.sequences.readers.column_lines import ColumnReading, Columns
from distsvm.structures.sequences.readers.token_rows import FIRST_CODE, Field, token_rows
from distsvm.structures.sequences.rows import SequenceRows, TagRows
from distsvm.wording import Setting, message

MAX_HASH_BITS = 30


@dataclass(frozen=True, eq=False)
class ColumnData:
    """Sentences in files of columns: the files, the meaning of the columns, the features."""

    paths: list[str]
    columns: Columns
    templates: Templates
    hash_bits: int | None

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> ColumnData:
        """Return the same data without its tags, whether or not the lines have any.

        Lines may have all columns of training, or all but the last one if that is the tag's.
        """
        n, tag = self.columns.n_columns, self.columns.tag
        if n is not None and tag in (-1, n - 1) and self.columns.count(self.paths[0]) == n - 1:
            n -= 1
        columns = replace(self.columns, tag=None, n_columns=n)
        return ColumnData(self.paths, columns, self.templates, self.hash_bits)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[ColumnSpec]:
        """Return how to load each of n_shards shards of about equal bytes; see cut_files."""
        columns = self.columns
        if columns.n_columns is None and not columns.numbered:
            columns = replace(columns, n_columns=columns.count(self.paths[0]))
        runs = cut_sentences(self.paths, n_shards, columns)
        return [ColumnSpec(run, columns, self.templates, self.hash_bits) for run in runs]


class ConllData(ColumnData):
    """Sentences in CoNLL files: a token a line, its columns between blanks or tabs.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    tag : int or None, default -1
        The column of the tag: from 0, or from the end if it is negative. None: tags are not read.
    word : int, default 0
        The column of the word.
    separator : str, optional
        The text between columns, such as "\\t"; any run of blanks and tabs by default.
    templates : Templates or str, default DEFAULT
        The features of a token; see distsvm.data.templates.
    hash_bits : int, optional
        Features are hashed to 2^hash_bits columns rather than kept in a dictionary.
    comment : str, optional
        Lines that begin with it are skipped. None by default: "#" is a token in many files.
    n_columns : int, optional
        The number of columns of every line. Default: that of the first line; for files that a
        model reads, that of training.

    Notes
    -----
    A blank line ends a sentence, and so does a line that begins with -DOCSTART-, which is no
    token. Lines with too few columns, or with another number than the first, empty words or tags,
    bytes that are not UTF-8 and files without sentences are refused with file and line.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        tag: int | None = -1,
        word: int = 0,
        separator: str | None = None,
        templates: Templates | str = DEFAULT,
        hash_bits: int | None = None,
        comment: str | None = None,
        n_columns: int | None = None,
    ) -> None:
        if n_columns is not None and not (isinstance(n_columns, int) and n_columns > 0):
            raise ConfigError("n_columns", n_columns, whole(least=1).expected)
        for name, text in (("separator", separator), ("comment", comment)):
            if text is not None and (not text or "\n" in text):
                raise ConfigError(name, text, "characters of one line, or None")
        for name, column in (("word", word), ("tag", tag)):
            if not isinstance(column, int) and not (name == "tag" and column is None):
                raise ConfigError(name, column, "the number of a column")
        columns = Columns(word, tag, _encoded(separator), _encoded(comment), n_columns=n_columns)
        templates = as_templates(templates)
        check_features(templates, word, tag, hash_bits)
        super().__init__(find_files(paths), columns, templates, hash_bits)

    def learnt(self) -> dict[str, Any]:
        """Return the options that models save: the number of columns, None without lines."""
        return {"n_columns": self.columns.n_columns or self.columns.count(self.paths[0])}


@dataclass(frozen=True)
class ColumnSpec(TextSpec):
    """The parts of files that make up one shard, and how they are read."""

    parts: tuple[Part, ...]
    columns: Columns
    templates: Templates
    hash_bits: int | None = None

    @property
    def growth(self) -> float:
        return 16.0  # a word has dozens of features

    def starts(self) -> Starts:
        return sentence_starts(self.columns)

    def load(self) -> Shard:
        others = self.templates.columns
        reading = ColumnReading(self.columns, others)
        for part in self.parts:
            reading.read(part)
        starts = np.concatenate([[0], np.cumsum(reading.lengths, dtype=np.int64)])
        fields: dict[int | None, Field] = {None: reading.field(self.columns.word)}
        fields.update((column, reading.field(column)) for column in others)
        tokens, names = token_rows(self.templates, fields, starts, self.hash_bits)
        y = None
        if self.columns.tag is not None:
            tags = reading.field(self.columns.tag)
            if self.columns.numbered and tags.distinct == ["_"]:
                raise DataError(f"{self.source}: column {self.columns.tag} has no tags, only _")
            codes = Ragged(tags.codes - np.int32(FIRST_CODE), starts)
            y = TagRows(codes, np.array(tags.distinct, dtype=object))
        x = SequenceRows(tokens, starts, names)
        return Shard(x, y, None, source=self.source)  # type: ignore[arg-type]

    def locate(self, row: int) -> str | None:
        place, words = super().locate(row), " ".join(self.words()[row])
        return f"{place}, sentence {textwrap.shorten(words, 60, placeholder=' …')!r}"

    def words(self) -> list[list[str]]:
        """Read the files again and return the words of each sentence; shards have only features."""
        reading = ColumnReading(replace(self.columns, tag=None), ())
        for part in self.parts:
            reading.read(part)
        field = reading.field(self.columns.word)
        texts = [field.distinct[code] for code in (field.codes - FIRST_CODE).tolist()]
        ends = np.cumsum([0, *reading.lengths]).tolist()
        return [texts[start:stop] for start, stop in pairwise(ends)]

    @property
    def source(self) -> str:
        return described(self.parts)


def check_features(templates: Templates, word: int, tag: int | None, hash_bits: int | None) -> None:
    """Refuse features that include the tag, and numbers of columns out of range."""
    if tag is not None and tag in (word, *templates.columns):
        given = Setting("tag", tag)
        raise ConfigError(
            message("{}: the column is also read as a feature, expected another", given)
        )
    if hash_bits is not None and not 1 <= hash_bits <= MAX_HASH_BITS:
        raise ConfigError("hash_bits", hash_bits, whole(1, MAX_HASH_BITS).expected)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
