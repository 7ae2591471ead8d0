"""What goes into an alignment task and what comes out: sequences, and which letters pair up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from distsvm.errors import DataError

PAIR, NATIVE_ALONE, OTHER_ALONE = "MDI"
"""Columns: a letter of each sequence, one of the native sequence alone, one of the other alone."""


class Sequences(NamedTuple):
    """An input: a native sequence, and those of which one is its homologue."""

    native: str
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Alignment:
    """A candidate, and the columns of its alignment with the native sequence.

    Parameters
    ----------
    candidate : int
        The place of the sequence among the candidates, from 0.
    columns : str or None
        A letter a column: M for a letter of both, D for one of the native sequence alone, I for one
        of the candidate alone. None where the alignment is not known.
    start, candidate_start : int
        How many letters of each sequence stand before the first column; 0 in global alignments.
    """

    candidate: int
    columns: str | None = None
    start: int = 0
    candidate_start: int = 0

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the places of the letters that pair up, in both sequences."""
        i, j = self.start, self.candidate_start
        for column in self.columns or "":
            if column == PAIR:
                yield i, j
            i, j = i + (column != OTHER_ALONE), j + (column != NATIVE_ALONE)

    @property
    def ends(self) -> tuple[int, int]:
        """How many letters of each sequence stand before the end of the last column."""
        columns = self.columns or ""
        return (
            self.start + len(columns) - columns.count(OTHER_ALONE),
            self.candidate_start + len(columns) - columns.count(NATIVE_ALONE),
        )

    def rows(self, x: Any) -> tuple[str, str]:
        """Both sequences with a gap, "-", where the other has a letter alone."""
        native, candidates = as_sequences(x)
        other = candidates[self.candidate]
        i, j = self.start, self.candidate_start
        first, second = [], []
        for column in self.columns or "":
            first.append("-" if column == OTHER_ALONE else native[i])
            second.append("-" if column == NATIVE_ALONE else other[j])
            i, j = i + (column != OTHER_ALONE), j + (column != NATIVE_ALONE)
        return "".join(first), "".join(second)

    @classmethod
    def of_rows(cls, first: str, second: str, candidate: int = 0) -> Alignment:
        """Return the alignment of two rows of equal length, as in FASTA and Stockholm files.

        "-" is a gap. Columns in which a row has "." are beyond the alignment, and are its first and
        last ones. A column of two gaps is none.
        """
        if len(first) != len(second):
            raise DataError(
                f"the rows of the alignment have {len(first)} and {len(second)} columns, expected "
                "as many in both"
            )
        pairs = [pair for pair in zip(first, second, strict=True) if set(pair) - {"-", "."}]
        inside = ["." not in pair for pair in pairs]
        begin = inside.index(True) if True in inside else 0
        end = len(inside) - inside[::-1].index(True) if True in inside else 0
        if not all(inside[begin:end]):
            raise DataError(
                'the alignment has "." between its columns, expected it before the first and after '
                "the last alone"
            )
        columns = [
            OTHER_ALONE if a == "-" else NATIVE_ALONE if b == "-" else PAIR
            for a, b in pairs[begin:end]
        ]
        starts = [sum(pair[side] not in "-." for pair in pairs[:begin]) for side in (0, 1)]
        return cls(candidate, "".join(columns), *(starts if columns else (0, 0)))


def as_sequences(x: Any) -> Sequences:
    """Return the input, given as (native, candidates), or as an object with these two names."""
    if isinstance(x, Mapping):
        if x.keys() != {"native", "candidates"}:
            raise DataError(
                f"the input has {', '.join(map(repr, x)) or 'nothing'}, expected 'native' and "
                "'candidates'"
            )
        x = (x["native"], x["candidates"])
    if not (isinstance(x, (tuple, list)) and len(x) == 2):
        raise DataError(f"the input is {x!r:.60}, expected (native, candidates)")
    native, candidates = x
    candidates = (candidates,) if isinstance(candidates, str) else candidates
    if not isinstance(candidates, (tuple, list)) or not candidates:
        raise DataError("the input has no candidates, expected one sequence or more")
    found = Sequences(native, tuple(candidates))
    for name, sequence in named(found):
        if not isinstance(sequence, str) or not sequence:
            raise DataError(f"the {name} is {sequence!r:.60}, expected a text of letters")
    return found


def named(x: Sequences) -> list[tuple[str, str]]:
    """Return all sequences, with their names in messages."""
    return [
        ("native sequence", x.native),
        *((f"candidate {k}", c) for k, c in enumerate(x.candidates)),
    ]


def as_alignment(y: Any, x: Sequences, whole: bool) -> Alignment:
    """Return the output, given as an Alignment, a candidate's number, or an object of either.

    Refused unless it fits its sequences; `whole` alignments have all of their letters.
    """
    if isinstance(y, Mapping):
        y = decoded(y)
    if isinstance(y, int) and not isinstance(y, bool):
        y = Alignment(y)
    if not isinstance(y, Alignment):
        raise DataError(f"the output is {y!r:.60}, expected an Alignment or a candidate's number")
    if not 0 <= y.candidate < len(x.candidates):
        raise DataError(
            f"the homologue is candidate {y.candidate}, but there are {len(x.candidates)}, "
            "numbered from 0"
        )
    if y.columns is None:
        return y
    wrong = set(y.columns) - {PAIR, NATIVE_ALONE, OTHER_ALONE}
    if wrong:
        raise DataError(
            f"the alignment has the column {min(wrong)!r}, expected {PAIR}, {NATIVE_ALONE} or "
            f"{OTHER_ALONE}"
        )
    lengths = (len(x.native), len(x.candidates[y.candidate]))
    starts, names = (y.start, y.candidate_start), ("native sequence", "homologue")
    for name, start, end, length in zip(names, starts, y.ends, lengths, strict=True):
        if start < 0 or end > length:
            raise DataError(
                f"the alignment does not fit its sequences: it takes the letters {start} to "
                f"{end - 1} of the {name}, which has {length}"
            )
        if whole and (start, end) != (0, length):
            raise DataError(
                f"the alignment does not fit its sequences: it takes {end - start} letters of the "
                f"{name}, and a global one takes all {length}"
            )
    return y


def decoded(data: Any) -> Any:
    """Return the Alignment of a JSON object; other values unchanged."""
    if not isinstance(data, Mapping):
        return data
    unknown = data.keys() - {"candidate", "columns", "start", "candidate_start"}
    if unknown or "candidate" not in data:
        raise DataError(
            f"the output has {', '.join(map(repr, data))}, expected 'candidate' and perhaps "
            "'columns', 'start' and 'candidate_start'"
        )
    numbers = [data.get(name, 0) for name in ("candidate", "start", "candidate_start")]
    columns = data.get("columns")
    if not all(type(number) is int for number in numbers) or not isinstance(
        columns, (str, type(None))
    ):
        raise DataError(f"the output is {dict(data)!r:.80}, expected whole numbers and columns")
    return Alignment(numbers[0], columns, *numbers[1:])


def encoded(y: Any) -> Any:
    """Return the output in JSON's terms, which `decoded` reads."""
    if not isinstance(y, Alignment):
        return y
    data: dict[str, Any] = {"candidate": y.candidate}
    if y.columns is not None:
        data["columns"] = y.columns
    starts = {"start": y.start, "candidate_start": y.candidate_start}
    return data | {name: start for name, start in starts.items() if start}
