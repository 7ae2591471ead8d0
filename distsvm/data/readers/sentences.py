"""Text files of sentences in parts of whole sentences, for which only the cuts' places are read."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import BinaryIO, Protocol

import numpy as np

from distsvm.data.files import is_gzip, line_number, opened
from distsvm.data.partition import MAX_SHARDS, partition
from distsvm.data.readers.lines import UNITS_PER_SHARD, Part, blocks, text_bytes
from distsvm.errors import ConfigError, DataError

logger = logging.getLogger(__name__)

MIN_BYTES = 1 << 16  # of a shard, unless the number of shards is given
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Sentences(Protocol):
    """A format, as far as cutting needs to know it."""

    def beginnings(self, at_start: bool) -> Callable[[bytes], bool]:
        """Whether a line begins a sentence, asked of one line after another.

        The first line asked is the file's first (`at_start`), or any: then only beginnings that
        the lines since then prove are told.
        """


def cut_sentences(
    paths: Sequence[str], n_shards: int | None, sentences: Sentences
) -> list[tuple[Part, ...]]:
    """n_shards runs of sentences of about equal bytes, none of them empty.

    By default 16, or as many as have 64 KiB of text each. Fewer (with a warning, if the number was
    given) where there are too few sentences, or too few packed files, which are never cut.
    """
    if n_shards is not None and n_shards < 1:
        raise ConfigError(f"n_shards={n_shards}: expected at least 1")
    n_bytes = text_bytes(paths)
    n_parts = n_shards or max(1, min(MAX_SHARDS, n_bytes // MIN_BYTES))
    units = _units(paths, n_bytes // (n_parts * UNITS_PER_SHARD), sentences)
    if len(units) < n_parts:
        units = _units(paths, 1, sentences)
    costs = np.array([unit.n_bytes for unit in units], dtype=np.float64)
    runs = partition(costs, min(n_parts, len(units)))
    if n_shards is not None and len(runs) < n_shards:
        logger.warning("n_shards=%d: the data gives no more than %d", n_shards, len(runs))
    return [_joined(units[run.start : run.stop]) for run in runs]


def described(parts: Sequence[Part]) -> str:
    """The parts as the source of a shard, for messages."""
    if len(parts) < 3:
        return "; ".join(map(str, parts))
    return f"{parts[0]}; … ; {parts[-1]} ({len(parts)} files)"


def texts(part: Part) -> Iterator[tuple[int, bytes]]:
    """As blocks(), without a byte order mark, and refused with its line unless it is UTF-8."""
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


def _units(paths: Sequence[str], spacing: int, sentences: Sentences) -> list[Part]:
    """Parts of at least `spacing` bytes, where they are not the last; a packed file is one."""
    units: list[Part] = []
    for path in paths:
        with opened(path) as file:
            found = _sentence_starts(file, spacing, sentences)
            starts = list(islice(found, 1) if is_gzip(path) else found)
        if not starts:
            raise DataError(f"{path}: the file has no sentences")
        if is_gzip(path):
            units.append(Part(path, 0, None))
        else:
            # From the first byte on, so that what is wrong before the first sentence is seen.
            edges = pairwise([0, *starts[1:], os.path.getsize(path)])
            units += [Part(path, start, stop) for start, stop in edges]
    return units


def _sentence_starts(file: BinaryIO, spacing: int, sentences: Sentences) -> Iterator[int]:
    """Where sentences begin, each at least `spacing` bytes after the one before."""
    place = 0
    begins = sentences.beginnings(at_start=True)
    while line := file.readline():
        if begins(line if place else line.removeprefix(BYTE_ORDER_MARK)):
            yield place
            if spacing > len(line):
                file.seek(place + spacing - 1)  # the byte before, in case a line begins there
                file.readline()
                place = file.tell()
                begins = sentences.beginnings(at_start=False)
                continue
        place += len(line)


def _joined(units: Sequence[Part]) -> tuple[Part, ...]:
    """The same sentences in as few parts as possible."""
    runs = [list(run) for _, run in groupby(units, key=lambda unit: unit.path)]
    return tuple(Part(run[0].path, run[0].start, run[-1].stop) for run in runs)
