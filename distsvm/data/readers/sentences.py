"""Text files of sentences, cut into parts of whole sentences; only text around cuts is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Protocol

from distsvm.data.files import line_number
from distsvm.data.readers.lines import Part, Starts, blocks, cut_files, read_line, seek_line
from distsvm.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Sentences(Protocol):
    """The part of a format that cutting needs."""

    def beginnings(self, at_start: bool) -> Callable[[bytes], bool]:
        """Return a function that is called with line after line: whether it begins a sentence.

        The first line is the file's first (`at_start`), or any line. After any line, the function
        returns True only where the lines since then prove a beginning.
        """


def cut_sentences(
    paths: Sequence[str], n_shards: int | None, sentences: Sentences
) -> list[tuple[Part, ...]]:
    """As cut_files, where an example is a sentence."""
    return cut_files(paths, n_shards, sentence_starts(sentences), "sentences")


def sentence_starts(sentences: Sentences) -> Starts:
    """Return where sentences of this format begin."""

    def starts(file: BinaryIO, spacing: int, place: int) -> Iterator[int]:
        begins = sentences.beginnings(at_start=True)
        while line := read_line(file):
            if begins(line if place else line.removeprefix(BYTE_ORDER_MARK)):
                yield place
                if spacing > len(line):
                    place = seek_line(file, place + spacing)
                    begins = sentences.beginnings(at_start=False)
                    continue
            place += len(line)

    return starts


def texts(part: Part) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of blocks() without a byte order mark; text must be UTF-8."""
    for offset, text in blocks(part):
        if offset == 0 and text.startswith(BYTE_ORDER_MARK):
            offset, text = len(BYTE_ORDER_MARK), text[len(BYTE_ORDER_MARK) :]
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = line_number(part.path, offset + error.start)
            raise DataError(
                f"{part.path}, line {line}: found the byte 0x{text[error.start]:02x}, "
                f"expected UTF-8 ({error.reason})"
            ) from error
        yield offset, text
