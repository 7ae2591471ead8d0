"""Pieces of a shard of text files, for shards that are larger than memory.

Sums over a shard are made over runs of 2^k examples, a few thousand. A piece has a multiple of
that, so a shard in pieces gives the same bits as one in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from distsvm.data.files import compression, line_number, opened
from distsvm.data.readers.lines import Part, Starts, example_starts, joined_parts

MARK = 256  # examples between places where a piece may begin
WHOLE_ROWS = 1 << 13  # examples; a piece has a multiple of it, or a smaller power of two
SEEN_BYTES = 1 << 16  # of text, for an estimate of the number of columns
ROW_BYTES = 128  # of an example beside its features: two planes of the dual ascent

Spec = TypeVar("Spec", bound="TextSpec")


class TextSpec:
    """The base of the specs of text files, frozen dataclasses with the field `parts`."""

    parts: tuple[Part, ...]

    @property
    def growth(self) -> float:
        """An estimate of the examples' memory per byte of their text."""
        return 2.0

    def starts(self) -> Starts:
        """Return where this format's examples begin."""
        return example_starts

    def pieces(self: Spec, n_bytes: float) -> list[Spec]:
        """Return the same examples in order, in specs of about n_bytes of memory each.

        The text is read once to count examples. A piece ends where a compressed file ends.
        """
        runs = cut_rows(self.parts, n_bytes, self.growth, self.starts())
        return [self.with_parts(run) for run in runs]

    def seen_columns(self) -> int | None:
        """Return the number of columns of the examples in the first bytes of text."""
        first = self.parts[0]
        with opened(first.path) as file:
            file.seek(first.start)
            text = file.read(SEEN_BYTES)
        stop = first.start + text.rfind(b"\n") + 1
        if first.start < stop < first.start + first.n_bytes:
            first = replace(first, stop=stop)
        return getattr(self.with_parts([first]).load().x, "n_columns", None)  # type: ignore[attr-defined]

    def joined(self: Spec, others: Sequence[Spec]) -> Spec:
        return self.with_parts(
            joined_parts([part for spec in (self, *others) for part in spec.parts])
        )

    def locate(self, row: int) -> str | None:
        """Read the text again and return file and line where an example of the spec begins."""
        for part in self.parts:
            with opened(part.path) as file:
                file.seek(part.start)
                for place in self.starts()(file, 1, part.start):
                    if part.stop is not None and place >= part.stop:
                        break
                    if row == 0:
                        return f"{part.path}, line {line_number(part.path, place)}"
                    row -= 1
        return None

    def with_parts(self: Spec, parts: Iterable[Part]) -> Spec:
        """Return this spec with other parts."""
        return replace(self, parts=tuple(parts))  # type: ignore[type-var]


def rows_of_piece(n_bytes: float, row_bytes: float) -> int:
    """Return the number of examples of this size in a piece; see WHOLE_ROWS."""
    rows = max(MARK, int(n_bytes / (ROW_BYTES + row_bytes)))
    return rows - rows % WHOLE_ROWS if rows >= WHOLE_ROWS else 1 << (rows.bit_length() - 1)


def cut_rows(
    parts: Sequence[Part], n_bytes: float, growth: float, starts: Starts
) -> list[tuple[Part, ...]]:
    """Return runs of about n_bytes / growth of text, all but the last of rows_of_piece examples.

    A compressed file is cut by itself, because the length of its text is known only from reading.
    """
    names = [part.path if compression(part.path) else "" for part in parts]
    together = groupby(zip(names, parts, strict=True), key=itemgetter(0))
    groups = [[part for _, part in group] for _, group in together]
    return [run for group in groups for run in _cut(group, n_bytes, growth, starts)]


def _cut(
    parts: Sequence[Part], n_bytes: float, growth: float, starts: Starts
) -> list[tuple[Part, ...]]:
    # Each unit has at most MARK examples, after (its number)·MARK others.
    units: list[tuple[int, Part]] = []
    n_rows, total = 0, 0
    for part in parts:
        mark, start = n_rows // MARK, part.start
        with opened(part.path) as file:
            file.seek(part.start)
            for i, place in enumerate(starts(file, 1, part.start)):
                if part.stop is not None and place >= part.stop:
                    break
                if i and n_rows % MARK == 0:
                    units.append((mark, replace(part, start=start, stop=place)))
                    mark, start = n_rows // MARK, place
                n_rows += 1
            total += (file.tell() if part.stop is None else part.stop) - part.start
        units.append((mark, replace(part, start=start)))
    rows = rows_of_piece(n_bytes, growth * total / max(1, n_rows))
    runs = groupby(units, lambda unit: unit[0] * MARK // rows)
    return [joined_parts([part for _, part in run]) for _, run in runs]
