"""Lines of columns, one token each, as codes of their distinct texts."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import numpy as np

from distsvm.data.files import line_number, opened
from distsvm.data.readers.lines import Part
from distsvm.data.readers.sentences import BYTE_ORDER_MARK, texts
from distsvm.errors import DataError
from distsvm.structures.sequences.readers.column_blocks import (
    NEW_DOCUMENT,
    NO_WORD,
    read_block,
)
from distsvm.structures.sequences.readers.token_rows import FIRST_CODE, Field

CONLLU_COLUMNS = 10
LONGEST = 1 << 20  # of a line whose columns are counted


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a line.

    Parameters
    ----------
    word, tag : int
        Numbers of columns from 0, or from the end if they are negative; no tag is read if None.
    separator : bytes, or None for any run of blanks and tabs
    comment : bytes, or None
        Lines that begin with it are no tokens.
    numbered : bool
        As in CoNLL-U, the first of ten columns is a number that tells words from other lines.
    n_columns : int, optional
        The number of columns of every line: that of training, or of the first line.
    """

    word: int = 0
    tag: int | None = -1
    separator: bytes | None = None
    comment: bytes | None = None
    numbered: bool = False
    n_columns: int | None = None

    def beginnings(self, at_start: bool) -> Callable[[bytes], bool]:
        """Return a function that finds beginnings; see distsvm.data.readers.sentences."""
        between = at_start

        def begins(line: bytes) -> bool:
            nonlocal between
            if not line.strip() or line.startswith(NEW_DOCUMENT):
                between = True
            elif between and not (self.comment is not None and line.startswith(self.comment)):
                between = False
                return True
            return False

        return begins

    def refusal(self, n_columns: int, others: Sequence[int]) -> str | None:
        """Return why a line of n columns cannot be used; None if it can."""
        found = f"found {n_columns} column{'s' * (n_columns != 1)}, expected "
        if self.numbered:
            return None if n_columns == CONLLU_COLUMNS else f"{found}10 between tabs"
        roles = {f"column {k} of the templates": k for k in others}
        roles |= {"the word": self.word} | ({} if self.tag is None else {"the tag": self.tag})
        for role, k in roles.items():
            if not -n_columns <= k < n_columns:
                return f"{found}at least {max(k + 1, -k)}, as {role} is in column {k}"
        places = {k % n_columns for k in (self.word, *others)}
        if self.tag is not None and self.tag % n_columns in places:
            return f"{found}more, as the tag in column {self.tag} would be a feature of itself"
        if self.n_columns not in (None, n_columns):
            return (
                f"{found}{self.n_columns} as in training and in the lines before; plain sentences "
                "are read from .txt files"
            )
        return None

    def fields(self, line: bytes) -> list[bytes]:
        """Return the columns of a line."""
        if self.separator is None:
            return line.split()
        return line.rstrip(b"\r\n").split(self.separator)

    def is_token(self, line: bytes) -> bool:
        """Return whether a line is neither blank nor a comment nor the beginning of a document."""
        comment = self.comment is not None and line.startswith(self.comment)
        return not (comment or line.isspace() or not line or line.startswith(NEW_DOCUMENT))

    def count(self, path: str) -> int | None:
        """Return the number of columns of the first token of a file; None without tokens."""
        with opened(path) as file:
            for line in iter(partial(file.readline, LONGEST), b""):
                line = line.removeprefix(BYTE_ORDER_MARK)
                if self.is_token(line):
                    return len(self.fields(line))
        return None


class ColumnReading:
    """The columns in use of all tokens so far; `lengths` has those of the sentences.

    Parameters
    ----------
    columns : Columns
    others : ints
        Columns to read beside word and tag.
    """

    def __init__(self, columns: Columns, others: Sequence[int]) -> None:
        self.lengths: list[int] = []
        self._first, self._wordless = 0, False
        self._columns, self._others = columns, others
        tag = () if columns.tag is None else (columns.tag,)
        self._known: dict[int, dict[bytes, int]] = {}
        self._codes: dict[int, array[int]] = {}
        for column in {columns.word, *tag, *others}:
            self._known[column] = _codes_in_order()
            self._codes[column] = array("i")

    def field(self, column: int) -> Field:
        distinct = [text.decode("utf-8") for text in self._known[column]]
        return Field(distinct, np.array(self._codes[column], dtype=np.int32))

    def read(self, part: Part) -> None:
        """Add the part's sentences."""
        # Where the sentence begins, and whether it has lines that are no words.
        self._first, self._wordless = self._n_words, False
        for offset, text in texts(part):
            if not self._take_block(text):
                self._read_lines(text, part.path, offset)
            n_lines = text.count(b"\n")
        self._end(part.path, offset, n_lines - 1)

    @property
    def _n_words(self) -> int:
        return len(self._codes[self._columns.word])

    def _take_block(self, text: bytes) -> bool:
        """Add the text's words if all its lines are alike; whether they are."""
        columns = self._columns
        block = read_block(
            text, columns.separator, columns.comment, columns.numbered, self._known,
            lambda n: columns.refusal(n, self._others),
        )  # fmt: skip
        if block is None:
            return False
        ends = np.concatenate([[self._first], self._n_words + block.words_before])
        lengths, others = np.diff(ends), np.diff(block.others_before, prepend=0)
        others[:1] += self._wordless
        if ((lengths == 0) & (others > 0)).any():
            return False  # a sentence without words
        if ends.size > 1:
            self._wordless = False
        self._wordless |= block.n_others > block.others_before[-1:].sum()
        self._first = int(ends[-1])
        self.lengths += lengths[lengths > 0].tolist()
        for column, known in self._known.items():
            codes = np.array([known[text] for text in block.distinct[column]], np.int32)
            self._codes[column].frombytes(codes[block.number[column]].tobytes())
        return True

    def _read_lines(self, text: bytes, path: str, offset: int) -> None:
        """Add the text's words, line by line; what is wrong is refused with its line."""
        columns, comment, usable = self._columns, self._columns.comment, -1
        used = [(k, self._known[k], self._codes[k].append) for k in self._known]
        lines = text.split(b"\n")
        lines.pop()  # after the last newline
        for number, line in enumerate(lines):
            if not line or line.isspace() or line.startswith(NEW_DOCUMENT):
                self._end(path, offset, number)
                self._first, self._wordless = self._n_words, False
                continue
            if comment is not None and line.startswith(comment):
                continue
            fields = columns.fields(line)
            if len(fields) != usable:
                reason = columns.refusal(len(fields), self._others)
                if reason:
                    _refuse(path, offset, number, reason)
                usable = len(fields)
            if columns.numbered and not fields[0].isdigit():
                if not NO_WORD.fullmatch(fields[0]):
                    found = fields[0].decode("utf-8")
                    expected = "the number of a word (3), a range (3-4) or an empty node (3.1)"
                    _refuse(path, offset, number, f"found {found!r}, expected {expected}")
                self._wordless = True
                continue
            for k, known, append in used:
                if not fields[k]:
                    _refuse(path, offset, number, f"column {k} is empty")
                append(known[fields[k]])

    def _end(self, path: str, offset: int, number: int) -> None:
        n_tokens = self._n_words - self._first
        if n_tokens:
            self.lengths.append(n_tokens)
        elif self._wordless:
            reason = "the sentence that ends here has no words, only ranges or empty nodes"
            _refuse(path, offset, number, reason)


def _codes_in_order() -> defaultdict[bytes, int]:
    """Return a dictionary that gives a new text the next code on its first use."""
    known: defaultdict[bytes, int] = defaultdict()
    known.default_factory = lambda: len(known) + FIRST_CODE
    return known


def _refuse(path: str, offset: int, number: int, reason: str) -> NoReturn:
    """Raise the error about line `number`, counted from 0 at this offset."""
    raise DataError(f"{path}, line {line_number(path, offset) + number}: {reason}")
