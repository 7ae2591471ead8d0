"""Every alignment of short sequences, and their scores column by column."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from distsvm import Alignment


def paths(n: int, m: int) -> Iterator[str]:
    """The columns of every global alignment of n letters with m."""
    if not n and not m:
        yield ""
    for column, i, j in (("M", 1, 1), ("D", 1, 0), ("I", 0, 1)):
        if n >= i and m >= j:
            yield from (column + rest for rest in paths(n - i, m - j))


def alignments(x: tuple, local: bool) -> Iterator[Alignment]:
    """Every alignment of the native sequence with every candidate."""
    native, candidates = x
    for k, other in enumerate(candidates):
        if not local:
            yield from (Alignment(k, columns) for columns in paths(len(native), len(other)))
            continue
        yield Alignment(k, "")
        for n in range(len(native) + 1):
            for m in range(len(other) + 1):
                for columns in paths(n, m) if n or m else ():
                    for i in range(len(native) - n + 1):
                        for j in range(len(other) - m + 1):
                            yield Alignment(k, columns, i, j)


def score(y: Alignment, x: tuple, matrix: dict, open_: float, extend: float) -> float:
    """The score of an alignment, added up as people would."""
    native, other = x[0], x[1][y.candidate]
    total = sum(matrix[native[i], other[j]] for i, j in y.pairs())
    for column, run in groupby(y.columns):
        if column != "M":
            total += open_ + (len(list(run)) - 1) * extend
    return total
