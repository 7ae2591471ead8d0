"""FASTA files: native sequences, each followed by its homologue and decoys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from distsvm.data.readers.lines import Part
from distsvm.errors import DataError
from distsvm.structures.alignments import STRUCTURE
from distsvm.structures.alignments.alignment import Alignment, as_sequences
from distsvm.structures.alignments.readers.blocks import (
    DECOY,
    HOMOLOGUE,
    NATIVE,
    ROLES,
    BlockData,
    BlockSpec,
    Row,
)

ALIGNED = "aligned"


class FastaSpec(BlockSpec):
    """The parts of FASTA files that make up one shard."""

    @staticmethod
    def begins(line: bytes) -> bool:
        return line.startswith(b">") and NATIVE.encode() in line.split()[1:]

    def blocks(
        self, part: Part, lines: Iterator[tuple[str, str]]
    ) -> Iterator[tuple[list[Row], bool]]:
        rows: list[Row] = []
        aligned = False
        for where, line in lines:
            if not line.startswith(">"):
                if line.strip() and not line.startswith(";"):
                    if not rows:
                        raise DataError(f"{where}: found {line!r:.60}, expected a line with '>'")
                    rows[-1] = rows[-1]._replace(text=rows[-1].text + "".join(line.split()))
                continue
            words = line[1:].split()[1:]
            role = next((word for word in words if word in ROLES), "")
            if not role:
                raise DataError(
                    f"{where}: found {line!r:.60}, expected native, homologue or decoy behind the "
                    "name"
                )
            if role == NATIVE and rows:
                yield rows, aligned
                rows, aligned = [], False
            if role != NATIVE and not rows:
                raise DataError(f"{where}: found a {role}, expected a native sequence before it")
            aligned |= role == HOMOLOGUE and ALIGNED in words
            rows.append(Row(where, role, ""))
        if rows:
            yield rows, aligned


class FastaData(BlockData):
    """Examples in FASTA files.

    The name of each record is followed by its role: `>P1 native` begins an example, `>Q7 homologue`
    and `>D3 decoy` follow in any order. Behind `homologue aligned` the alignment is known: native
    sequence and homologue are rows of equal length with "-" for gaps, and "." in the columns before
    and behind a local alignment. For prediction, homologue and decoy mean the same. Records without
    a role, and whatever is no such example, are refused with file and line.
    """

    spec: ClassVar[type[BlockSpec]] = FastaSpec
    endings: ClassVar[tuple[str, ...]] = STRUCTURE.formats["fasta"].endings


def write_fasta(path: Path | str, inputs: Iterable[Any], outputs: Iterable[Alignment]) -> None:
    """Write examples to a FASTA file, with the alignments that are known."""
    with open(path, "w", encoding="utf-8") as file:
        for number, (given, y) in enumerate(zip(inputs, outputs, strict=True)):
            x = as_sequences(given)
            rows = None if y.columns is None else whole_rows(x, y)
            file.write(f">{number} {NATIVE}\n{x.native if rows is None else rows[0]}\n")
            for k, other in enumerate(x.candidates):
                if k != y.candidate:
                    file.write(f">{number}/{k} {DECOY}\n{other}\n")
                elif rows is None:
                    file.write(f">{number}/{k} {HOMOLOGUE}\n{other}\n")
                else:
                    file.write(f">{number}/{k} {HOMOLOGUE} {ALIGNED}\n{rows[1]}\n")


def whole_rows(x: Any, y: Alignment) -> tuple[str, str]:
    """Both sequences whole as rows of equal length, with "." beyond the alignment."""
    native, other = x.native, x.candidates[y.candidate]
    (i, j), (start, other_start) = y.ends, (y.start, y.candidate_start)
    first, second = y.rows(x)
    before, behind = (native[:start], other[:other_start]), (native[i:], other[j:])
    return (
        before[0] + "." * len(before[1]) + first + behind[0] + "." * len(behind[1]),
        "." * len(before[0]) + before[1] + second + "." * len(behind[0]) + behind[1],
    )
