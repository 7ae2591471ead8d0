"""How a worker has its examples: read into memory, packed on local disk, or a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from distsvm.data.packed import PackedStore, files_of, given_folder, key_of, own_folder
from distsvm.data.readers.lines import Part
from distsvm.data.readers.pieces import TextSpec
from distsvm.data.shard import Shard, ShardSpec
from distsvm.data.shard_arrays import arrays_of, shard_of
from distsvm.errors import ConfigError
from distsvm.wording import Setting, message

MEGABYTE = 2**20
PIECE_SHARE = 8
"""A piece is at most this part of a worker's memory: larger ones save no time."""
PROCESS_MB = 80.0
"""Of a worker process without examples."""
COPIES = 5.0
"""How often a piece is there at the peak: as text, as Python objects and as arrays while it is
packed; with planes, of what is read and of what is written, later (benchmarks/out_of_core.py)."""
LEAST_MB = 8.0
"""Of a piece, by a guess that may be eight times too high: smaller ones would only cost time."""


@dataclass(frozen=True)
class Keeping:
    """Where packed examples are kept, and how much memory a worker may take.

    Parameters
    ----------
    cache_dir : str, optional
        A folder on a disk of the worker's own machine that only this user can write in. None:
        nothing is kept, unless memory_mb is given; then it is a folder among the temporary files.
    memory_mb : float, optional
        Examples are worked through in pieces of at most an eighth of it, read from the packed files
        in every round. What a solver keeps of them is in the same folder.
    n_vectors : int
        Of the length of w, that a worker has at once beside the examples.
    reading_mb : float
        What reading the examples takes beside them.
    dim : int
        The length of w, once it is known.
    """

    cache_dir: str | None = None
    memory_mb: float | None = None
    n_vectors: int = 0
    reading_mb: float = 0.0
    dim: int = 0

    def checked(self, specs: Sequence[ShardSpec]) -> Keeping:
        """This for the examples of these specs; refused where they cannot be had in pieces."""
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
        if self.cache_dir is not None:
            return PackedStore(given_folder(self.cache_dir))
        return None if self.memory_mb is None else PackedStore(own_folder())

    @property
    def piece_mb(self) -> float:
        """What the examples of a piece may take, and their planes as much again."""
        assert self.memory_mb is not None
        vectors_mb = self.n_vectors * self.dim * 8 / MEGABYTE
        process_mb = PROCESS_MB + self.reading_mb
        beside_mb = process_mb + vectors_mb
        found = min(self.memory_mb / PIECE_SHARE, (self.memory_mb - beside_mb) / COPIES)
        if found < LEAST_MB:
            needed = math.ceil(beside_mb + COPIES * LEAST_MB)
            raise ConfigError(
                message(
                    "{}: a worker needs {} at least, of which its process takes {} with what reads "
                    "the files, and {} vectors of length {} take {}",
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
        """The shard's pieces, as specs; none where it is to be in memory whole."""
        store = self.store()
        if self.memory_mb is None or store is None:
            return []
        n_bytes = self.piece_mb * MEGABYTE
        if not isinstance(spec, TextSpec):
            return spec.pieces(n_bytes)
        # Text has to be read to be cut; where it was, is kept as well.
        key = key_of(spec, "pieces", repr(n_bytes))
        found = store.get(key)
        if found is None:
            runs = [[astuple(part) for part in piece.parts] for piece in spec.pieces(n_bytes)]
            found = store.put(key, {}, {"runs": runs})
        return [spec.with_parts(Part(*part) for part in run) for run in found.notes["runs"]]


def load(spec: ShardSpec, store: PackedStore | None, mapped: bool = True) -> Shard:
    """The examples of a spec: packed ones, mapped or read, or else read from their files and kept.

    Only arrays are kept (see not_kept, and shard_arrays). Data in memory and Python objects are
    loaded as ever. The shard knows where its examples
    came from, if the spec does.
    """
    shard = _load(spec, store, mapped)
    return replace(shard, locate=getattr(spec, "locate", shard.locate))


def _load(spec: ShardSpec, store: PackedStore | None, mapped: bool) -> Shard:
    if store is None or not files_of(spec):
        return spec.load()
    key = key_of(spec, "examples")
    packed = store.get(key)
    if packed is None:
        shard = spec.load()
        found = arrays_of(shard)
        if found is None:
            return shard
        packed = store.put(key, *found)
    with packed.believed():
        return shard_of(packed.arrays(mapped), packed.notes)
