"""Plain sentences, to predict on: split into words, as lists of words or as rows of features.

The tokeniser is simple. A line is split at blanks. Punctuation and symbols at the beginning and at
the end of what is between blanks are words of their own, equal ones in a row one word; what stands
inside a word stays: `"Wi-Fi's 5%..."` gives `"`, `Wi-Fi's`, `5`, `%`, `...`, `"`. Text that another
tokeniser has split is given with blanks between the words (tokens=True).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, BinaryIO

import numpy as np

from distsvm.data.dataset import cut
from distsvm.data.files import Paths, find_files
from distsvm.data.ragged import offsets
from distsvm.data.readers.lines import (
    Part,
    Starts,
    cut_files,
    described,
    read_line,
    seek_line,
    text_bytes,
)
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import texts
from distsvm.data.shard import Names, Shard
from distsvm.data.templates import Templates, as_templates
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.readers.token_rows import FIRST_CODE, Field, token_rows
from distsvm.structures.sequences.rows import SequenceRows

MAX_LINE = 1 << 24


def tokenise(line: str) -> list[str]:
    """The words of a sentence; see the module's text."""
    return [word for piece in line.split() for word in _split(piece)]


def _split(piece: str) -> list[str]:
    inside = [place for place, sign in enumerate(piece) if not _is_mark(sign)]
    first, last = (inside[0], inside[-1] + 1) if inside else (len(piece), len(piece))
    before, word, after = piece[:first], piece[first:last], piece[last:]
    return [*_runs(before), *([word] if word else []), *_runs(after)]


def _runs(marks: str) -> list[str]:
    return ["".join(run) for _, run in groupby(marks)]


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "PS"


def splitter(tokens: bool) -> Callable[[str], list[str]]:
    """What makes words of a line; see TextData."""
    return str.split if tokens else tokenise


def lines_of(file: BinaryIO, source: str) -> Iterator[bytes]:
    """The lines of a file as they come; one that does not end is refused."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise DataError(
                f"{source}: a line of more than {MAX_LINE >> 20} MB, expected a sentence"
            )
        yield line


def sentences_of(lines: Iterable[bytes], source: str, tokens: bool = False) -> Iterator[list[str]]:
    """The words of every line, also of blank ones; lines are refused unless they are UTF-8."""
    split = splitter(tokens)
    for number, line in enumerate(lines, 1):
        try:
            yield split(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source}, line {number}: found the byte 0x{line[error.start]:02x}, "
                f"expected UTF-8 ({error.reason})"
            ) from error


class WordData:
    """Sentences given as lists of words.

    Parameters
    ----------
    sentences : lists of str
    outputs : list, optional
    templates : Templates, optional
        The features of a token; without them an input is its list of words.
    hash_bits : int, optional
        As in ConllData.
    """

    n_bytes: int | None = None

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        outputs: Sequence[Any] | None = None,
        *,
        templates: Templates | None = None,
        hash_bits: int | None = None,
    ) -> None:
        if outputs is not None and len(outputs) != len(sentences):
            raise DataError(f"{len(outputs)} outputs for {len(sentences)} sentences")
        self._sentences, self._outputs = sentences, outputs
        self._templates, self._hash_bits = templates, hash_bits

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[WordSpec]:
        costs = np.array([1.0 + len(sentence) for sentence in self._sentences])
        return [
            WordSpec(
                self._sentences[part.start : part.stop],
                None if self._outputs is None else self._outputs[part.start : part.stop],
                part.start, self._templates, self._hash_bits,
            )
            for part in cut(costs, n_shards)
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class WordSpec:
    """The sentences of one shard."""

    sentences: Sequence[Sequence[str]]
    outputs: Sequence[Any] | None
    first: int
    templates: Templates | None
    hash_bits: int | None

    def load(self) -> Shard:
        x: Any = self.sentences
        if self.templates is not None:
            x = word_rows(self.sentences, self.templates, self.hash_bits)
        return Shard(x, self.outputs, None, first=self.first)

    def words(self) -> list[list[str]]:
        """The words of each sentence."""
        return [list(sentence) for sentence in self.sentences]


def word_rows(
    sentences: Sequence[Sequence[str]], templates: Templates, hash_bits: int | None
) -> SequenceRows:
    """The features of all words, as a file of one column would give them."""
    words = [word for sentence in sentences for word in sentence]
    distinct = list(dict.fromkeys(words))
    number = {word: code for code, word in enumerate(distinct, FIRST_CODE)}
    codes = np.array([number[word] for word in words], dtype=np.int32)
    starts = offsets(np.array([len(sentence) for sentence in sentences], dtype=np.int64))
    rows, names = token_rows(templates, {None: Field(distinct, codes)}, starts, hash_bits)
    return SequenceRows(rows, starts, names)


class TextData:
    """Plain text files, one sentence a line, to predict on.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Packed files (.gz, .bz2, .xz) are unpacked.
    tokens : bool, default False
        Whether words have blanks between them already; otherwise the module's tokeniser splits.
    """

    def __init__(self, paths: Paths, *, tokens: bool = False) -> None:
        self.paths, self.tokens = find_files(paths), tokens

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> TextData:
        """The same: there are no outputs to leave out."""
        return self

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[LineSpec]:
        source = described([Part(path, 0, None) for path in self.paths])
        raise ConfigError(f"{source}: plain text has no true outputs; it can only be predicted on")


class LineData(TextData):
    """Plain text files for a model: their words with these features, as in WordData."""

    def __init__(self, text: TextData, templates: Templates | None, hash_bits: int | None) -> None:
        super().__init__(text.paths, tokens=text.tokens)
        self._features = templates, hash_bits

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[LineSpec]:
        """How to load each of n_shards shards of about equal bytes; see cut_files."""
        runs = cut_files(self.paths, n_shards, _line_starts, "sentences")
        return [LineSpec(run, self.tokens, *self._features) for run in runs]


@dataclass(frozen=True)
class LineSpec(TextSpec):
    """The parts of plain text files that make up one shard, every line of them a sentence.

    `of_words` makes an input of a sentence. It is the task's, which is where the shard is loaded
    and does not travel with every spec.
    """

    parts: tuple[Part, ...]
    tokens: bool
    templates: Templates | None
    hash_bits: int | None
    of_words: Callable[[Sequence[str]], Sequence[str]] | None = None

    def starts(self) -> Starts:
        return _line_starts

    def words(self) -> list[list[str]]:
        """The words of each sentence."""
        split = splitter(self.tokens)
        return [
            split(line)
            for part in self.parts
            for _, text in texts(part)
            for line in text.decode().split("\n")[:-1]
        ]

    def load(self) -> Shard:
        x: Any = self.words()
        if self.of_words is not None:
            names = Names(range(len(x)), None, self.locate)
            x = [names.call(row, self.of_words, words) for row, words in enumerate(x)]
        if self.templates is not None:
            x = word_rows(x, self.templates, self.hash_bits)
        return Shard(x, None, None, source=described(self.parts))


def _line_starts(file: BinaryIO, spacing: int, place: int) -> Iterator[int]:
    """Where lines begin, also blank ones; see Starts."""
    while line := read_line(file):
        yield place
        place = place + len(line) if spacing <= len(line) else seek_line(file, place + spacing)


def templates_of(notes: Any) -> tuple[Templates, int | None] | None:
    """The templates and hash_bits of a model's notes on its data, None where it had no words.

    Templates that read more than words are refused.
    """
    if notes is None or notes["kind"] not in ("conll", "conllu"):
        return None
    options = notes["options"]
    templates = as_templates(options.get("templates", "default"))
    if templates.columns:
        raise DataError(
            f"the model's templates read column {templates.columns[0]}, which plain words do not "
            "have; give a file with all columns of training"
        )
    return templates, options.get("hash_bits")
