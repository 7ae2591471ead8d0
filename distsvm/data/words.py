"""Plain sentences to predict on, split into words, of which a structure can make features.

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
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from distsvm.data.dataset import cut
from distsvm.data.files import Paths, find_files
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
from distsvm.errors import ConfigError, DataError

MAX_LINE = 1 << 24

Features: TypeAlias = "Callable[[Sequence[Sequence[str]]], Any]"
"""Makes a shard's inputs of its sentences in words; see Structure.words."""


def tokenise(line: str) -> list[str]:
    """Return the words of a sentence; see the module's docstring."""
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
    """Return the function from a line to its words; see TextData."""
    return str.split if tokens else tokenise


def lines_of(file: BinaryIO, source: str) -> Iterator[bytes]:
    """Yield the lines of a file as they come; a line that does not end is refused."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise DataError(
                f"{source}: a line of more than {MAX_LINE >> 20} MB, expected a sentence"
            )
        yield line


def sentences_of(lines: Iterable[bytes], source: str, tokens: bool = False) -> Iterator[list[str]]:
    """Yield the words of every line, also of blank ones; a line that is not UTF-8 is refused."""
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
    features : function of all sentences, optional
        Makes the shard's inputs; without it an input is its list of words.
    """

    n_bytes: int | None = None

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        outputs: Sequence[Any] | None = None,
        features: Features | None = None,
    ) -> None:
        if outputs is not None and len(outputs) != len(sentences):
            raise DataError(f"{len(outputs)} outputs for {len(sentences)} sentences")
        self._sentences, self._outputs, self._features = sentences, outputs, features

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[WordSpec]:
        costs = np.array([1.0 + len(sentence) for sentence in self._sentences])
        return [
            WordSpec(
                self._sentences[part.start : part.stop],
                None if self._outputs is None else self._outputs[part.start : part.stop],
                part.start, self._features,
            )
            for part in cut(costs, n_shards)
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class WordSpec:
    """The sentences of one shard."""

    sentences: Sequence[Sequence[str]]
    outputs: Sequence[Any] | None
    first: int
    features: Features | None

    def load(self) -> Shard:
        x = self.sentences if self.features is None else self.features(self.sentences)
        return Shard(x, self.outputs, None, first=self.first)

    def words(self) -> list[list[str]]:
        """Return the words of each sentence."""
        return [list(sentence) for sentence in self.sentences]


class TextData:
    """Plain text files, one sentence a line, to predict on.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are decompressed.
    tokens : bool, default False
        Whether words have blanks between them already; otherwise the module's tokeniser splits.
    """

    def __init__(self, paths: Paths, *, tokens: bool = False) -> None:
        self.paths, self.tokens = find_files(paths), tokens

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> TextData:
        """Return this data, which has no outputs."""
        return self

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[LineSpec]:
        source = described([Part(path, 0, None) for path in self.paths])
        raise ConfigError(f"{source}: plain text has no true outputs; it can only be predicted on")


class LineData(TextData):
    """Plain text files for a model: their words with these features, as in WordData."""

    def __init__(self, text: TextData, features: Features | None) -> None:
        super().__init__(text.paths, tokens=text.tokens)
        self._features = features

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[LineSpec]:
        """Return how to load each of n_shards shards of about equal bytes; see cut_files."""
        runs = cut_files(self.paths, n_shards, _line_starts, "sentences")
        return [LineSpec(run, self.tokens, self._features) for run in runs]


@dataclass(frozen=True)
class LineSpec(TextSpec):
    """The parts of plain text files that make up one shard, every line of them a sentence.

    `of_words` makes an input of a sentence. It is the task's, which is where the shard is loaded
    and does not travel with every spec.
    """

    parts: tuple[Part, ...]
    tokens: bool
    features: Features | None
    of_words: Callable[[Sequence[str]], Sequence[str]] | None = None

    def starts(self) -> Starts:
        return _line_starts

    def words(self) -> list[list[str]]:
        """Return the words of each sentence."""
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
        if self.features is not None:
            x = self.features(x)
        return Shard(x, None, None, source=described(self.parts))


def _line_starts(file: BinaryIO, spacing: int, place: int) -> Iterator[int]:
    """Yield the places where lines begin, also blank ones; see Starts."""
    while line := read_line(file):
        yield place
        place = place + len(line) if spacing <= len(line) else seek_line(file, place + spacing)
