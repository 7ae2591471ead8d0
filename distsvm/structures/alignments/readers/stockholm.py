"""Stockholm files: each alignment holds a native sequence, its homologue and decoys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from distsvm.data.readers.lines import Part
from distsvm.errors import DataError
from distsvm.structures.alignments import STRUCTURE
from distsvm.structures.alignments.readers.blocks import (
    DECOY,
    HOMOLOGUE,
    NATIVE,
    ROLES,
    BlockData,
    BlockSpec,
    Row,
)

HEAD, END = "# STOCKHOLM", "//"


class StockholmSpec(BlockSpec):
    """The parts of Stockholm files that make up one shard."""

    @staticmethod
    def begins(line: bytes) -> bool:
        return line.startswith(HEAD.encode())

    def blocks(
        self, part: Part, lines: Iterator[tuple[str, str]]
    ) -> Iterator[tuple[list[Row], bool]]:
        found: dict[str, Row] | None = None
        roles: dict[str, str] = {}
        where = part.path
        for where, line in lines:
            if line.startswith(HEAD):
                if found is not None:
                    raise DataError(f"{where}: an alignment begins before {END} ends the last one")
                found, roles = {}, {}
            elif found is None:
                if line.strip():
                    raise DataError(f"{where}: found {line!r:.60}, expected {HEAD}")
            elif line.startswith("#"):
                words = line.split()
                if len(words) >= 4 and words[0] == "#=GS" and words[2] == "DE":
                    roles[words[1]] = next((word for word in words[3:] if word in ROLES), "")
            elif line.strip() == END:
                if not found:
                    raise DataError(f"{where}: an alignment without sequences")
                yield _rows(found, roles), True
                found = None
            elif line.strip():
                words = line.split()
                if len(words) != 2:
                    raise DataError(
                        f"{where}: found {len(words)} columns, expected a name and a row of letters"
                    )
                row = found.get(words[0], Row(where, "", ""))
                found[words[0]] = row._replace(text=row.text + words[1])
        if found is not None:
            raise DataError(f"{where}: the file ends within an alignment, expected {END}")


def _rows(found: dict[str, Row], roles: dict[str, str]) -> list[Row]:
    """Return the rows with their roles: native, homologue, and decoys, or those of the file."""
    usual = [NATIVE, HOMOLOGUE, *[DECOY] * len(found)]
    pairs = zip(found.items(), usual[: len(found)], strict=True)
    return [row._replace(role=roles.get(name) or role) for (name, row), role in pairs]


class StockholmData(BlockData):
    """Examples in Stockholm files: all of `# STOCKHOLM 1.0` to `//` is one.

    The first sequence is native, the second its homologue, and all others are decoys, unless lines
    such as `#=GS NAME DE decoy` say so. The rows of native sequence and homologue are their
    alignment: "-" is a gap, and columns with "." lie before or behind a local alignment. Gaps of
    decoys are taken out. Whatever is no such alignment is refused with file and line.
    """

    spec: ClassVar[type[BlockSpec]] = StockholmSpec
    endings: ClassVar[tuple[str, ...]] = STRUCTURE.formats["stockholm"].endings
