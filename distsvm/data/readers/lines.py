"""Text files in parts of whole lines; every part begins with an example."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import BinaryIO, TypeAlias

import numpy as np

from distsvm.data.files import compression, file_bytes, file_facts, opened
from distsvm.data.partition import MAX_SHARDS, partition
from distsvm.errors import ConfigError, DataError
from distsvm.kinds import whole
from distsvm.wording import Setting, message

logger = logging.getLogger(__name__)

MIN_BYTES = 1 << 16  # of a shard, unless the number of shards is given
BLOCK_BYTES = 1 << 20  # of text at a time
UNITS_PER_SHARD = 8  # possible cuts in a shard's length
MAX_LINE = 1 << 27  # bytes; a file with a longer line is no text of examples
COMPRESSION_RATIO = 4  # text is usually compressed to about a quarter
CUT_READ_AHEAD = 1 << 16  # little is read around a cut

_here = threading.local()


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


Starts: TypeAlias = "Callable[[BinaryIO, int, int], Iterator[int]]"
"""Called with (file, spacing, place): yields the places where examples begin, from `place` on, each
at least `spacing` bytes after the one before. `place` is the file's position, where one begins."""


def cut_files(
    paths: Sequence[str],
    n_shards: int | None,
    starts: Starts | None = None,
    what: str = "examples",
    min_bytes: int = MIN_BYTES,
) -> list[tuple[Part, ...]]:
    """Return n_shards runs of examples of about equal bytes, none of them empty.

    The default is 16, or fewer so that each has min_bytes of text. There are fewer (with a warning,
    if n_shards is given) where there are too few examples, or too few compressed files, which are
    never cut. Only text around possible cuts is read, unless examples are about as long as runs.

    Parameters
    ----------
    starts : Starts, optional
        Default: every line that is neither blank nor a comment is an example.
    what : str
        The name of examples in the error about a file that has none.
    """
    if n_shards is not None and n_shards < 1:
        raise ConfigError("n_shards", n_shards, whole(least=1).expected)
    n_bytes = text_bytes(paths)
    n_parts = n_shards or max(1, min(MAX_SHARDS, n_bytes // min_bytes))
    starts = starts or example_starts
    units = _units(paths, max(1, n_bytes // (n_parts * UNITS_PER_SHARD)), starts, what)
    if len(units) < n_parts:
        units = _units(paths, 1, starts, what)
    costs = np.array([max(1, unit.n_bytes) for unit in units], dtype=np.float64)
    runs = partition(costs, min(n_parts, len(units)))
    if n_shards is not None and len(runs) < n_shards:
        asked = Setting("n_shards", n_shards)
        logger.warning(message("{}: the data can be cut into {} at most", asked, len(runs)))
    return [joined_parts(units[run.start : run.stop]) for run in runs]


def described(parts: Sequence[Part]) -> str:
    """Return the parts as the source of a shard, for messages."""
    if len(parts) < 3:
        return "; ".join(map(str, parts))
    return f"{parts[0]}; … ; {parts[-1]} ({len(parts)} files)"


def text_bytes(paths: Sequence[str]) -> int:
    """Return the bytes of text in all these files; an estimate for compressed ones."""
    return sum(file_bytes(path) * (COMPRESSION_RATIO if compression(path) else 1) for path in paths)


def blocks(part: Part) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in the file, text) for the part's lines; each text ends with a newline."""
    with _opened_part(part) as file:
        offset, tail = part.start, b""
        while True:
            # Reading at least as much as the tail keeps the work linear in a line's length.
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
            if len(tail) > MAX_LINE:
                raise _too_long(part.path)
        if part.stop is not None and offset + len(tail) < part.stop:
            raise DataError(f"{part.path}: the file became shorter after it was cut into shards")
        if tail:
            yield offset, tail + b"\n"


@contextmanager
def _opened_part(part: Part) -> Iterator[BinaryIO]:
    """Open the part's file at the part's beginning.

    Seeking in a compressed file decompresses it again from its beginning. So it stays open after a
    part in its middle: a thread that reads part after part decompresses it once.
    """
    facts = (part.path, file_facts(part.path)) if compression(part.path) else None
    known, stack, file = getattr(_here, "open_file", (None, ExitStack(), None))
    _here.open_file = (None, ExitStack(), None)
    if file is None or known != facts or file.tell() != part.start:
        stack.close()
        file = stack.enter_context(opened(part.path))
    with stack:
        file.seek(part.start)
        yield file
        if facts is not None and part.stop is not None:
            _here.open_file = (facts, stack.pop_all(), file)


def _units(paths: Sequence[str], spacing: int, starts: Starts, what: str) -> list[Part]:
    """Return parts of `spacing` bytes or more, but for a file's last; a compressed file is one."""
    units: list[Part] = []
    for path in paths:
        is_one = bool(compression(path)) or file_bytes(path) <= spacing
        with opened(path, CUT_READ_AHEAD) as file:
            found = starts(file, spacing, 0)
            places = list(islice(found, 1) if is_one else found)
        if not places:
            raise DataError(f"{path}: the file has no {what}")
        if compression(path):
            units.append(Part(path, 0, None))
        else:
            # From the first byte on, so that mistakes before the first example are found.
            edges = pairwise([0, *places[1:], file_bytes(path)])
            units += [Part(path, start, stop) for start, stop in edges]
    return units


def example_starts(file: BinaryIO, spacing: int, place: int) -> Iterator[int]:
    """Yield the places where lines with an example begin; see Starts."""
    while line := read_line(file):
        if line.lstrip()[:1] not in (b"", b"#"):
            yield place
            if spacing > len(line):
                place = seek_line(file, place + spacing)
                continue
        place += len(line)


def seek_line(file: BinaryIO, place: int) -> int:
    """Go to the first line that begins at this place > 0 or after it, and return its place."""
    file.seek(place - 1)  # the byte before, in case a line begins here
    read_line(file)
    return file.tell()


def read_line(file: BinaryIO) -> bytes:
    """Return the next line; refuse an endless one, which few compressed bytes can make."""
    line = file.readline(MAX_LINE)
    if len(line) == MAX_LINE:
        raise _too_long(getattr(file, "name", "a file"))
    return line


def _too_long(path: str) -> DataError:
    return DataError(f"{path}: a line of more than {MAX_LINE >> 20} MB, expected text of lines")


def joined_parts(units: Sequence[Part]) -> tuple[Part, ...]:
    """Return the same examples in as few parts as possible."""
    joined: list[Part] = []
    for unit in units:
        last = joined[-1] if joined else None
        if last is not None and (last.path, last.stop) == (unit.path, unit.start):
            joined[-1] = replace(last, stop=unit.stop)
        else:
            joined.append(unit)
    return tuple(joined)
