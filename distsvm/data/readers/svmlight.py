"""svmlight (LIBSVM) text files, cut into shards by bytes and parsed by the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.features import SparseRows, frozen
from distsvm.data.files import Paths, find_files, line_number
from distsvm.data.readers.growing import Growing, GrowingRows
from distsvm.data.readers.lines import Part, blocks, cut_files, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.kernels import svmlight as kernel

FLOAT64_MAX = np.finfo(np.float64).max

EXPECTED = {
    kernel.BAD_LABEL: "a label, which is a finite number, at the beginning of the line",
    kernel.BAD_QID: "qid: and a whole number",
    kernel.BAD_INDEX: "index:value with a whole index ≥ 0",
    kernel.INDEX_TOO_LARGE: f"an index below 10^{kernel.MAX_DIGITS}",
    kernel.INDEX_ORDER: "indices that increase along the line",
    kernel.BAD_VALUE: "index:value with a finite number as value",
}


class SvmlightData:
    """Examples in svmlight files: `label [qid:N] index:value … [# comment]`, one a line.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of them
        Compressed files (.gz, .bz2, .xz) are never cut between shards.
    dtype : float64 or float32
        The type of the features; numbers are rounded correctly.
    labelled : bool
        False reads lines for prediction: labels may be missing and are ignored.

    Notes
    -----
    Indices increase along a line and keep the base that the file has. Blank lines and lines with
    only a comment are no examples; `qid:N` is ignored. `nan`, `inf` and everything else that is no
    finite number is refused with its file and line.
    """

    def __init__(self, paths: Paths, *, dtype: Any = np.float64, labelled: bool = True) -> None:
        self.paths = find_files(paths)
        self.dtype = np.dtype(dtype)
        self.labelled = labelled
        if self.dtype not in (np.float32, np.float64):
            raise ConfigError("dtype", self.dtype, "float32 or float64")

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def unlabelled(self) -> SvmlightData:
        return SvmlightData(self.paths, dtype=self.dtype, labelled=False)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[SvmlightSpec]:
        runs = cut_files(self.paths, n_shards)
        return [SvmlightSpec(run, self.dtype.name, self.labelled) for run in runs]


@dataclass(frozen=True)
class SvmlightSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]
    dtype: str = "float64"
    labelled: bool = True

    def load(self) -> Shard:
        """Return the examples; `y` is float64, and columns keep the base that the files have."""
        labels, rows = Growing(np.float64), GrowingRows(np.dtype(self.dtype))
        n_bytes, done = sum(part.n_bytes for part in self.parts), 0
        for part in self.parts:
            for offset, text in blocks(part):
                done += len(text)
                share = min(1.0, done / n_bytes)
                y, lengths, columns, values = self.parse(part.path, offset, text)
                labels.extend(y, share)
                rows.extend(lengths, columns, values, share)
        x = SparseRows(*rows.finish(), zero_based=False)
        truth = labels.finish() if self.labelled else None
        return Shard(x, truth, None, source=described(self.parts))

    def parse(self, path: str, offset: int, text: bytes) -> tuple[np.ndarray, ...]:
        """Return labels, rows' lengths, columns and values of the lines from this offset on."""
        array = frozen(np.frombuffer(text, dtype=np.uint8))
        n_lines, n_colons = kernel.count(array)
        y, starts = np.zeros(n_lines), np.empty(n_lines + 1, dtype=np.int64)
        columns, values = np.empty(n_colons, dtype=np.int64), np.empty(n_colons)
        slow = np.empty((n_lines + n_colons, 3), dtype=np.int64)
        largest = float(np.finfo(self.dtype).max)
        n_rows, n_entries, n_slow, code, place = kernel.parse(
            array, self.labelled, largest, y, starts, columns, values, slow
        )
        if n_slow:
            entry, begin, _ = slow[:n_slow].T
            numbers = np.array([float(text[a:b]) for _, a, b in slow[:n_slow].tolist()])
            of_label = entry < 0
            y[-1 - entry[of_label]] = numbers[of_label]
            values[entry[~of_label]] = numbers[~of_label]
            bad = np.flatnonzero(np.abs(numbers) > np.where(of_label, FLOAT64_MAX, largest))
            if bad.size:
                code = kernel.BAD_LABEL if of_label[bad[0]] else kernel.BAD_VALUE
                place = int(begin[bad[0]])
        if code:
            line = line_number(path, offset + place)
            found = _token(text, place)
            raise DataError(f"{path}, line {line}: found {found}, expected {EXPECTED[code]}")
        lengths = np.diff(starts[: n_rows + 1])
        return y[:n_rows], lengths, columns[:n_entries], values[:n_entries]


def _token(text: bytes, place: int) -> str:
    """Return the token around this place, quoted, and shortened if it is long."""
    begin = end = place
    while begin > 0 and not text[begin - 1 : begin].isspace():
        begin -= 1
    while end < begin + 40 and not text[end : end + 1].isspace():
        end += 1
    return repr(text[begin:end].decode("utf-8", "backslashreplace"))
