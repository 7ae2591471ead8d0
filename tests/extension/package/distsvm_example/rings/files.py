"""Files of rings: one a line, such as `1 0.5 -2 | 0 1.5 0.25`, a label and features a site.

A label may be `?` where only predictions are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from distsvm.data.files import Paths, find_files, line_number
from distsvm.data.readers.lines import Part, cut_files, described, text_bytes
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.readers.sentences import texts
from distsvm.data.shard import Shard
from distsvm.errors import DataError


class RingData:
    """Rings in text files, which workers read: this only cuts them into shards."""

    def __init__(self, paths: Paths) -> None:
        self.paths = find_files(paths, (".rings",))

    @property
    def n_bytes(self) -> int:
        return text_bytes(self.paths)

    def specs(
        self, n_shards: int | None = None, cost: Callable[[Any], float] | None = None
    ) -> list[RingSpec]:
        """How to load each of n_shards shards of about equal bytes."""
        return [RingSpec(parts) for parts in cut_files(self.paths, n_shards)]


@dataclass(frozen=True)
class RingSpec(TextSpec):
    """The parts of files that make up one shard."""

    parts: tuple[Part, ...]

    in_arrays: ClassVar[bool] = False

    def load(self) -> Shard:
        inputs, outputs = [], []
        for part in self.parts:
            for offset, text in texts(part):
                for number, line in enumerate(text.decode().splitlines()):
                    if not line.strip() or line.lstrip().startswith("#"):
                        continue
                    try:
                        sites = [site.split() for site in line.split("|")]
                        inputs.append(np.array([site[1:] for site in sites], dtype=np.float64))
                        outputs.append([int(site[0].replace("?", "-1")) for site in sites])
                    except (ValueError, IndexError) as error:
                        where = f"{part.path}, line {line_number(part.path, offset) + number}"
                        raise DataError(f"{where}: no ring: {error}") from error
        return Shard(inputs, outputs, None, source=described(self.parts))


def write_rings(path: Path | str, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
    """Write rings with their labels to a file."""
    lines = []
    for x, y in zip(inputs, outputs, strict=True):
        pairs = zip(x, y, strict=True)
        sites = (f"{label} {' '.join(repr(float(v)) for v in own)}" for own, label in pairs)
        lines.append(" | ".join(sites) + "\n")
    Path(path).write_text("".join(lines), encoding="utf-8")
