"""How a worker keeps its examples: in memory, packed on local disk, or a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from distsvm.data.packed import PackedStore, files_of, key_of, packed_folder
from distsvm.data.readers.lines import Part
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.shard import Shard, ShardSpec
from distsvm.data.shard_arrays import arrays_of, shard_of
from distsvm.errors import ConfigError
from distsvm.wording import Setting, message

MEGABYTE = 2**20
PIECE_SHARE = 8
"""A piece takes at most 1/8 of a worker's memory: larger pieces save no time."""
PROCESS_MB = 80.0
"""The memory of a worker process without examples."""
COPIES = 5.0
"""Copies of a piece in memory at the peak: text, Python objects and arrays while it is packed,
later planes that are read and written (measured by benchmarks/out_of_core.py)."""
LEAST_MB = 8.0
"""The least size of a piece: smaller pieces cost time. The size is a guess, up to 8 times high."""


@dataclass(frozen=True)
class Keeping:
    """Where packed examples are kept, and how much memory a worker may take.

    Parameters
    ----------
    cache_dir : str, optional
        A folder on a disk of the worker's machine that only this user can write in. None: nothing
        is kept, or, with memory_mb, a folder among the temporary files is used.
    memory_mb : float, optional
        The examples are read from packed files in every round, in pieces of at most an eighth of
        it. The solver's state of the examples is in the same folder.
    n_vectors : int
        The number of vectors of length dim that a worker has at once beside the examples.
    reading_mb : float
        The memory of the file reader beside the examples.
    dim : int
        The length of w, once it is known.
    growth : float
        Bytes of an example in memory for each byte as it was read; see Task.growth.
    """

    cache_dir: str | None = None
    memory_mb: float | None = None
    n_vectors: int = 0
    reading_mb: float = 0.0
    dim: int = 0
    growth: float = 1.0

    def checked(self, specs: Sequence[ShardSpec]) -> Keeping:
        """Return this with reading_mb of these specs; refuse specs that have no pieces."""
        if self.memory_mb is not None and not all(hasattr(spec, "pieces") for spec in specs):
            raise ConfigError(
                message(
                    "{} is for examples in files, and these are in memory or in a Ray Dataset: "
                    "write them to files (distsvm.data.writers, or Dataset.write_parquet), or give "
                    "no {worker_memory_mb}",
                    Setting("worker_memory_mb", self.memory_mb),
                )
            )
        return replace(self, reading_mb=max(getattr(spec, "reading_mb", 0.0) for spec in specs))

    def store(self) -> PackedStore | None:
        if self.cache_dir is None and self.memory_mb is None:
            return None
        return PackedStore(packed_folder(self.cache_dir))

    @property
    def piece_mb(self) -> float:
        """The memory of the examples of a piece; their planes take as much again."""
        assert self.memory_mb is not None
        vectors_mb = self.n_vectors * self.dim * 8 / MEGABYTE
        process_mb = PROCESS_MB + self.reading_mb
        beside_mb = process_mb + vectors_mb
        found = min(self.memory_mb / PIECE_SHARE, (self.memory_mb - beside_mb) / COPIES)
        if found < LEAST_MB:
            needed = math.ceil(beside_mb + COPIES * LEAST_MB)
            raise ConfigError(
                message(
                    "{}: a worker needs {} at least: its process with the reader of files takes "
                    "{}; {} vectors of length {} take {}",
                    Setting("worker_memory_mb", self.memory_mb),
                    needed,
                    f"{process_mb:.0f}",
                    self.n_vectors,
                    self.dim,
                    f"{vectors_mb:.0f}",
                )
            )
        return found

    def pieces(self, spec: Any) -> list[Any]:
        """Return the shard's pieces, as specs; none where the whole shard is in memory."""
        store = self.store()
        if self.memory_mb is None or store is None:
            return []
        n_bytes = self.piece_mb * MEGABYTE / max(1.0, self.growth)
        if not isinstance(spec, TextSpec):
            return spec.pieces(n_bytes)
        # Cutting text reads all of it, so the places of the cuts are kept as well.
        key = key_of(spec, "pieces", repr(n_bytes))
        found = store.get(key)
        if found is None:
            runs = [[astuple(part) for part in piece.parts] for piece in spec.pieces(n_bytes)]
            found = store.put(key, {}, {"runs": runs})
        return [spec.with_parts(Part(*part) for part in run) for run in found.notes["runs"]]


def load(spec: ShardSpec, store: PackedStore | None, mapped: bool = True) -> Shard:
    """Load the examples of a spec from their packed arrays, or from their files, and pack these.

    Only arrays from files are packed (see not_kept, and shard_arrays).
    """
    shard = packed = None
    if store is not None and files_of(spec):
        key = key_of(spec, "examples")
        packed = store.get(key)
        if packed is None:
            shard = spec.load()
            found = arrays_of(shard)
            packed = None if found is None else store.put(key, *found)
    if packed is not None:
        with packed.blamed():
            shard = shard_of(packed.arrays(mapped), packed.notes)
    shard = shard or spec.load()
    return replace(shard, locate=getattr(spec, "locate", shard.locate))
