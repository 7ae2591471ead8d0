"""Text files in parts of whole lines, of which every one begins with an example."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import BinaryIO

import numpy as np

from distsvm.data.files import is_gzip, opened
from distsvm.data.partition import partition
from distsvm.errors import DataError

BLOCK_BYTES = 1 << 20  # of text at a time
UNITS_PER_SHARD = 8  # places in a shard's length where a cut may fall
GZIP_RATIO = 4  # text usually packs to about a quarter


@dataclass(frozen=True)
class Part:
    """Whole lines of a file: the bytes start … stop − 1; all of it if stop is None."""

    path: str
    start: int
    stop: int | None

    @property
    def n_bytes(self) -> int:
        return text_bytes([self.path]) if self.stop is None else self.stop - self.start

    def __str__(self) -> str:
        return self.path if self.stop is None else f"{self.path}, bytes {self.start} to {self.stop}"


def cut_files(paths: Sequence[str], n_parts: int) -> list[tuple[Part, ...]]:
    """n_parts or, where there are too few lines, fewer runs of lines, of about equal bytes.

    Every run begins with an example, so that none is empty; a packed file is never cut. Only the
    neighbourhood of possible cuts is read, unless lines are about as long as the runs.
    """
    spacing = text_bytes(paths) // (n_parts * UNITS_PER_SHARD)
    units = _units(paths, spacing)
    if len(units) < n_parts:
        units = _units(paths, 1)
    costs = np.array([unit.n_bytes for unit in units], dtype=np.float64)
    return [
        _joined(units[run.start : run.stop]) for run in partition(costs, min(n_parts, len(units)))
    ]


def text_bytes(paths: Sequence[str]) -> int:
    """The bytes of text in all these files; a guess where they are packed."""
    return sum(os.path.getsize(path) * (GZIP_RATIO if is_gzip(path) else 1) for path in paths)


def blocks(part: Part) -> Iterator[tuple[int, bytes]]:
    """The part's lines in texts that end with a newline, each with its offset in the file."""
    with opened(part.path) as file:
        file.seek(part.start)
        offset, tail = part.start, b""
        while True:
            # Reading at least as much as is left over keeps the work linear in a line's length.
            n_bytes = max(BLOCK_BYTES, len(tail))
            if part.stop is not None:
                n_bytes = min(n_bytes, part.stop - offset - len(tail))
            block = file.read(n_bytes)
            if not block:
                break
            text = tail + block
            cut = text.rfind(b"\n") + 1
            if cut:
                yield offset, text[:cut]
            offset, tail = offset + cut, text[cut:]
        if part.stop is not None and offset + len(tail) < part.stop:
            raise DataError(f"{part.path}: the file became shorter after it was cut into shards")
        if tail:
            yield offset, tail + b"\n"


def _units(paths: Sequence[str], spacing: int) -> list[Part]:
    """Parts of at least `spacing` bytes, where they are not the last; a packed file is one."""
    units: list[Part] = []
    for path in paths:
        with opened(path) as file:
            examples = _example_starts(file, spacing)
            starts = list(islice(examples, 1) if is_gzip(path) else examples)
        if not starts:
            raise DataError(f"{path}: the file has no examples")
        if is_gzip(path):
            units.append(Part(path, 0, None))
        else:
            edges = pairwise([*starts, os.path.getsize(path)])
            units += [Part(path, start, stop) for start, stop in edges]
    return units


def _example_starts(file: BinaryIO, spacing: int) -> Iterator[int]:
    """Where lines with an example begin, each at least `spacing` bytes after the one before."""
    place = 0
    while line := file.readline():
        if line.lstrip()[:1] not in (b"", b"#"):
            yield place
            if spacing > len(line):
                file.seek(place + spacing - 1)  # the byte before, in case a line begins there
                file.readline()
                place = file.tell()
                continue
        place += len(line)


def _joined(units: Sequence[Part]) -> tuple[Part, ...]:
    """The same lines in as few parts as possible."""
    parts: list[Part] = []
    for unit in units:
        if parts and parts[-1].path == unit.path:
            parts[-1] = Part(unit.path, parts[-1].start, unit.stop)
        else:
            parts.append(unit)
    return tuple(parts)
