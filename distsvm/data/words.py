"""Plain sentences, to predict on: split into words, as lists of words or as rows of features.

The tokeniser is simple. A line is split at blanks. Punctuation and symbols at the beginning and at
the end of what is between blanks are words of their own, equal ones in a row one word; what stands
inside a word stays: `"Wi-Fi's 5%..."` gives `"`, `Wi-Fi's`, `5`, `%`, `...`, `"`. Text that another
tokeniser has split is given with blanks between the words (tokens=True).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from distsvm.data.dataset import cut
from distsvm.data.files import Paths, find_files, opened
from distsvm.data.ragged import offsets
from distsvm.data.readers.lines import Part, described
from distsvm.data.readers.token_rows import FIRST_CODE, Field, token_rows
from distsvm.data.sequences import SequenceRows
from distsvm.data.shard import Shard
from distsvm.data.templates import Templates, as_templates
from distsvm.errors import ConfigError, DataError

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


def sentences_of(lines: Iterable[bytes], source: str, tokens: bool = False) -> list[list[str]]:
    """The words of every line, also of blank ones; lines are refused unless they are UTF-8."""
    split: Callable[[str], list[str]] = str.split if tokens else tokenise
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(split(line.decode("utf-8-sig" if number == 1 else "utf-8")))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source}, line {number}: found the byte 0x{line[error.start]:02x}, "
                f"expected UTF-8 ({error.reason})"
            ) from error
    return found


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
        if templates is not None and templates.columns:
            raise DataError(
                f"the model's templates read column {templates.columns[0]}, which plain words do "
                "not have; give a file with all columns of training"
            )
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

    n_bytes: int | None = None

    def __init__(self, paths: Paths, *, tokens: bool = False) -> None:
        self.paths, self.tokens = find_files(paths), tokens

    def sentences(self) -> list[list[str]]:
        """The words of every line of all files, in order."""
        found: list[list[str]] = []
        for path in self.paths:
            with opened(path) as file:
                found += sentences_of(iter(partial(_line, file, path), b""), path, self.tokens)
        return found

    def unlabelled(self) -> TextData:
        """The same: there are no outputs to leave out."""
        return self

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[WordSpec]:
        source = described([Part(path, 0, None) for path in self.paths])
        raise ConfigError(f"{source}: plain text has no true outputs; it can only be predicted on")


def _line(file: Any, path: str) -> bytes:
    line = file.readline(MAX_LINE + 1)
    if len(line) > MAX_LINE:
        raise DataError(f"{path}: a line of more than {MAX_LINE >> 20} MB, expected a sentence")
    return line


def templates_of(notes: Any) -> tuple[Templates, int | None] | None:
    """The templates and hash_bits of a model's notes on its data, None where it had no words."""
    if notes is None or notes["kind"] not in ("conll", "conllu"):
        return None
    options = notes["options"]
    return as_templates(options.get("templates", "default")), options.get("hash_bits")
