"""What FASTA and Stockholm files have in common: examples of several lines, cut between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from distsvm.data.files import Paths, find_files, line_number
from distsvm.data.readers.lines import Part, Starts, cut_files, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import sentence_starts, texts
from distsvm.data.shard import Shard
from distsvm.errors import DataError, DistSVMError, renamed
from distsvm.structures.alignments.alignment import Alignment, Sequences

NATIVE, HOMOLOGUE, DECOY = ROLES = ("native", "homologue", "decoy")
GAPS = str.maketrans("", "", "-.")


class Row(NamedTuple):
    """A sequence as a file has it.

    Parameters
    ----------
    where : str
        File and line.
    role : str
        One of ROLES.
    text : str
        Its letters, with gaps where it is a row of an alignment.
    """

    where: str
    role: str
    text: str


class BlockData:
    """Examples in files, each of a native sequence, its homologue and decoys.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    labelled : bool
        False gives sequences alone, for prediction: no homologue has to be among them.
    """

    spec: ClassVar[type[BlockSpec]]
    endings: ClassVar[tuple[str, ...]]

    def __init__(self, paths: Paths, *, labelled: bool = True) -> None:
        self.paths, self.labelled = find_files(paths, self.endings), labelled

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> BlockData:
        """Return the same sequences, whichever of them is the homologue."""
        return type(self)(self.paths, labelled=False)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[BlockSpec]:
        """Return how to load each of n_shards shards of about equal bytes; see cut_files."""
        runs = cut_files(self.paths, n_shards, self.spec.block_starts())
        return [self.spec(parts, self.labelled) for parts in runs]


@dataclass(frozen=True)
class BlockSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]
    labelled: bool = True

    in_arrays: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def begins(line: bytes) -> bool:
        """Return whether an example begins with this line."""

    @abstractmethod
    def blocks(
        self, part: Part, lines: Iterator[tuple[str, str]]
    ) -> Iterator[tuple[list[Row], bool]]:
        """Return the rows of each example, and whether native sequence and homologue are aligned.

        `lines` gives file and line of each line, and its text.
        """

    @classmethod
    def block_starts(cls) -> Starts:
        return sentence_starts(_Beginnings(cls.begins))

    def starts(self) -> Starts:
        return self.block_starts()

    @property
    def growth(self) -> float:
        return 3.0

    def locate(self, row: int) -> str | None:
        found = next(islice(self._blocks(), row, None), None)
        return None if found is None else found[0][0].where

    def load(self) -> Shard:
        inputs, outputs = [], []
        for rows, aligned in self._blocks():
            try:
                x, y = self._example(rows, aligned)
            except DistSVMError as error:
                raise renamed(error, rows[0].where) from error
            inputs.append(x)
            outputs.append(y)
        return Shard(inputs, outputs if self.labelled else None, None, source=described(self.parts))

    def _blocks(self) -> Iterator[tuple[list[Row], bool]]:
        for part in self.parts:
            yield from self.blocks(part, _lines(part))

    def _example(self, rows: list[Row], aligned: bool) -> tuple[Sequences, Alignment | None]:
        by_role = {role: [row for row in rows if row.role == role] for role in ROLES}
        for role in (NATIVE, HOMOLOGUE) if self.labelled else (NATIVE,):
            if len(by_role[role]) != 1:
                raise DataError(
                    f"the example has {len(by_role[role])} sequences that are {role}, expected one"
                )
        letters = [row.text.translate(GAPS) for row in rows if row.role != NATIVE]
        native = by_role[NATIVE][0]
        x = Sequences(native.text.translate(GAPS), tuple(letters))
        if not self.labelled:
            return x, None
        homologue = by_role[HOMOLOGUE][0]
        place = [row for row in rows if row.role != NATIVE].index(homologue)
        if not aligned:
            return x, Alignment(place)
        return x, Alignment.of_rows(native.text, homologue.text, place)


class _Beginnings:
    """A format whose examples begin with lines that show it."""

    def __init__(self, begins: Callable[[bytes], bool]) -> None:
        self._begins = begins

    def beginnings(self, at_start: bool) -> Callable[[bytes], bool]:
        return self._begins


def _lines(part: Part) -> Iterator[tuple[str, str]]:
    number = None
    for offset, text in texts(part):
        number = line_number(part.path, offset) if number is None else number
        for line in text.decode().split("\n")[:-1]:
            yield f"{part.path}, line {number}", line.rstrip("\r")
            number += 1
