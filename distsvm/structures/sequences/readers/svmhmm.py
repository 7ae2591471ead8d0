"""SVM-HMM files: one token a line, `TAG qid:N feature:value …`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.features import SparseRows
from distsvm.data.files import Paths, find_files, line_number
from distsvm.data.ragged import Ragged
from distsvm.data.readers.growing import GrowingRows
from distsvm.data.readers.lines import Part, Starts, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import cut_sentences, sentence_starts, texts
from distsvm.data.readers.svmlight import SvmlightSpec
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.structures.sequences.rows import SequenceRows, TagRows

BLANK = rb"[ \t\r\x0b\x0c]"
HEAD = re.compile(
    rb"^%b*(?:(?!qid:)([^\s#]+)%b+)?qid:([0-9]{1,18})(?![^\s#])" % (BLANK, BLANK), re.MULTILINE
)
NO_TOKEN = re.compile(rb"\s*(#|$)")


class SvmHmmData:
    """Sentences in the files of SVM-HMM: `TAG qid:N index:value … [# comment]`, one token a line.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    labelled : bool
        False reads lines for prediction: tags may be missing and are ignored.

    Notes
    -----
    Tokens that follow each other with the same qid are a sentence, which never reaches into the
    next file. Tags are any texts, numbers or not, and are kept as texts. Indices are kept as the
    file counts them, and increase along a line. Blank lines and lines with only a comment are
    skipped; what is not a finite number is refused with its file and line.
    """

    def __init__(self, paths: Paths, *, labelled: bool = True) -> None:
        self.paths = find_files(paths)
        self.labelled = labelled

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> SvmHmmData:
        """Return the same data without its tags, whether or not the lines have any."""
        return SvmHmmData(self.paths, labelled=False)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[SvmHmmSpec]:
        """Return how to load each of n_shards shards of about equal bytes; see cut_files."""
        return [
            SvmHmmSpec(run, self.labelled)
            for run in cut_sentences(self.paths, n_shards, _RunsOfQids())
        ]


class _RunsOfQids:
    def beginnings(self, at_start: bool) -> Callable[[bytes], bool]:
        last: int | None = -1 if at_start else None

        def begins(line: bytes) -> bool:
            nonlocal last
            head = HEAD.match(line)
            if head is None:  # no token, or one that loading will refuse
                return False
            before, last = last, int(head[2])
            return before is not None and before != last

        return begins


@dataclass(frozen=True)
class SvmHmmSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]
    labelled: bool = True

    def starts(self) -> Starts:
        return sentence_starts(_RunsOfQids())

    def load(self) -> Shard:
        rows = GrowingRows(np.float64)
        codes: list[np.ndarray] = []
        firsts: list[np.ndarray] = []  # whether a token is the first of its sentence
        known: dict[bytes, int] = {}
        n_bytes, done = sum(part.n_bytes for part in self.parts), 0
        for part in self.parts:
            last = -1  # a sentence never reaches into the next file
            for offset, text in texts(part):
                done += len(text)
                tags, qids, entries = self._parse(part.path, offset, text)
                rows.extend(*entries, share=min(1.0, done / n_bytes))
                codes.append(np.array([known.setdefault(t, len(known)) for t in tags], np.int32))
                firsts.append(np.diff(qids, prepend=last) != 0)
                last = int(qids[-1]) if qids.size else last
        values, columns, ends, n_columns = rows.finish()
        starts = np.append(np.flatnonzero(np.concatenate(firsts)), ends.size - 1).astype(np.int64)
        tokens = SparseRows(values, columns, ends, n_columns)
        y = None
        if self.labelled:
            names = np.array([tag.decode("utf-8") for tag in known], dtype=object)
            y = TagRows(Ragged(np.concatenate(codes), starts), names)
        x = SequenceRows(tokens, starts, None)
        return Shard(x, y, None, source=self.source)  # type: ignore[arg-type]

    @property
    def source(self) -> str:
        return described(self.parts)

    def _parse(
        self, path: str, offset: int, text: bytes
    ) -> tuple[list[bytes], np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return tags, qids, and lengths, columns and values of the lines from this offset on."""
        heads = list(HEAD.finditer(text))
        n_tokens = sum(NO_TOKEN.match(line) is None for line in text.split(b"\n"))
        if n_tokens != len(heads) or (self.labelled and any(head[1] is None for head in heads)):
            raise self._refusal(path, offset, text)
        # Without the tags these are svmlight lines without labels, at the same places.
        rest = bytearray(text)
        for head in heads:
            if head[1] is not None:
                rest[head.start(1) : head.end(1)] = b" " * len(head[1])
        _, *entries = SvmlightSpec((), labelled=False).parse(path, offset, bytes(rest))
        lengths, columns, values = entries
        qids = np.array([int(head[2]) for head in heads], dtype=np.int64)
        tags = [head[1] for head in heads] if self.labelled else []
        return tags, qids, (lengths, columns, values)

    def _refusal(self, path: str, offset: int, text: bytes) -> DataError:
        """Return the error of the first line with a mistake."""

        def is_bad(line: bytes) -> bool:
            head = HEAD.match(line)
            return NO_TOKEN.match(line) is None and (
                head is None or (self.labelled and head[1] is None)
            )

        lines = text.split(b"\n")
        number = next(i for i, line in enumerate(lines) if is_bad(line))
        found = lines[number].decode("utf-8").split("#")[0].strip()
        found = found if len(found) < 40 else f"{found[:39]}…"
        expected = "a tag, then qid: and a whole number" if self.labelled else "qid: and its number"
        place = line_number(path, offset) + number
        return DataError(f"{path}, line {place}: found {found!r}, expected {expected}")
