"""An oracle whose examples are on disk: opened a piece at a time, and closed again.

It has the interface of an oracle, with row numbers of the whole shard. A piece is the oracle of
its own examples. Each call has rows of one piece only, because `chunks` cuts rows at pieces. The
call goes to that piece, and the answer gets the shard's row numbers. Where all pieces but the last
have a multiple of `Oracle.piece` rows, as those of distsvm.data.readers.pieces, sums are made in
the same order as in memory, and have the same bits.

A thread has one piece of any shard open, so a worker's memory does not grow with its shards. Only a
weight for each example stays in memory. The oracles of the pieces have the planes of examples;
distsvm.workers.pieced_ascent stores them on disk.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.data.keeping import load
from distsvm.data.packed import Packed, PackedStore, key_of
from distsvm.data.shard import Locate, Names
from distsvm.messages import Planes
from distsvm.oracles.algebra import PlaneAlgebra
from distsvm.oracles.description import describe
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.outputs import canonical
from distsvm.oracles.search import Separation
from distsvm.oracles.task import Task
from distsvm.oracles.totals import Total
from distsvm.vectors import Vector, compact

log = logging.getLogger(__name__)

_here = threading.local()


@dataclass(frozen=True, eq=False)
class Piece:
    """Some examples of a shard: their facts, and the function that opens their oracle."""

    n: int
    extent: int
    n_bytes: int
    unfit: dict[int, str]
    unseen: Counter[str]
    weight: np.ndarray | None
    open: Callable[[Names], Oracle]


def pack_pieces(
    task: Task, rescaling: str, specs: Sequence[Any], store: PackedStore
) -> tuple[Oracle, list[Piece]]:
    """Return an oracle of no examples, and the pieces, packed where they are arrays."""
    empty = load(specs[0], store).take(np.zeros(0, dtype=np.int64))
    frame = task.oracle(empty, rescaling)
    if frame.arrays() is None:
        return frame, [_unpacked(task, rescaling, spec, store) for spec in specs]
    description, arrays = describe(task)
    digests = [hashlib.blake2b(array.tobytes()).hexdigest() for array in arrays.values()]
    named = canonical([description, digests])
    return frame, [_packed(frame, task, rescaling, spec, store, named) for spec in specs]


def _packed(
    frame: Oracle, task: Task, rescaling: str, spec: Any, store: PackedStore, named: str
) -> Piece:
    key = key_of(spec, "packed for", named)
    packed = store.get(key)
    if packed is None:
        oracle = task.oracle(load(spec, store, mapped=False), rescaling)
        arrays = oracle.arrays()
        assert arrays is not None
        told = {str(row): why for row, why in oracle.unfit().items()}
        sizes = {"n": oracle.n, "extent": oracle.extent, "n_bytes": oracle.n_bytes}
        packed = store.put(key, arrays, {**sizes, "unfit": told, "unseen": oracle.unseen()})
    notes: dict[str, Any] = dict(packed.notes)
    unfit = {int(row): why for row, why in notes.pop("unfit").items()}
    unseen = Counter(notes.pop("unseen", {}))  # earlier versions refused such examples
    weight = packed.arrays(mapped=True).get("weight")

    def opened(names: Names, packed: Packed = packed) -> Oracle:
        with packed.blamed():
            return frame.over(packed.arrays(mapped=False), names, list(unfit))

    weight = None if weight is None else np.array(weight)
    return Piece(**notes, unfit=unfit, unseen=unseen, weight=weight, open=opened)


def _unpacked(task: Task, rescaling: str, spec: Any, store: PackedStore) -> Piece:
    """Return a piece of Python objects; each opening reads its file."""

    def opened(names: Names) -> Oracle:
        first = None if names.first is None else names.first + int(names.rows[0])
        return task.oracle(replace(load(spec, store), first=first), rescaling)

    shard = load(spec, store)
    oracle = task.oracle(shard, rescaling)
    return Piece(
        oracle.n, oracle.extent, oracle.n_bytes, oracle.unfit(), oracle.unseen(), shard.weight,
        opened,
    )  # fmt: skip


class PiecedOracle(Oracle):
    """The oracle of a shard that is worked through in pieces.

    Parameters
    ----------
    frame : Oracle
        Of the same task and no examples.
    pieces : list of Piece
    first, locate : see Names
    """

    def __init__(
        self,
        frame: Oracle,
        pieces: Sequence[Piece],
        first: int | None = None,
        locate: Locate | None = None,
    ) -> None:
        self._frame, self._pieces = frame, pieces
        self._starts = np.cumsum([0, *(piece.n for piece in pieces)])
        self.sizes = np.diff(self._starts)
        self.n = int(self._starts[-1])
        self.names = Names(range(self.n), first, locate)
        self.extent = sum(piece.extent for piece in pieces)
        self.piece = frame.piece_of(self.extent / max(1, self.n))
        if any(piece.n % self.piece for piece in pieces[:-1]):
            log.info("pieces do not end where sums do: other last bits than in memory")

    def penalise(self, penalty: str) -> None:
        super().penalise(penalty)
        self._frame.penalise(penalty)

    def weights(self) -> np.ndarray:
        """Return the examples' own weights."""
        known = [np.ones(p.n) if p.weight is None else p.weight for p in self._pieces]
        return np.concatenate(known)

    def chunks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        for chunk in super().chunks(rows):
            number = np.searchsorted(self._starts, chunk, side="right")
            yield from np.split(chunk, np.flatnonzero(np.diff(number)) + 1)

    # --- calls that are passed on ----------------------------------------------------------

    def view(self, w: np.ndarray) -> PiecedView:
        return PiecedView(w)

    def separate(self, view: PiecedView, rows: np.ndarray) -> Separation:
        oracle, start = self.opened(rows)
        found = oracle.separate(view.of(oracle), rows - start)
        planes = found.planes
        return replace(found, planes=replace(planes, row=planes.row + start))

    def values(self, view: PiecedView, planes: Planes) -> np.ndarray:
        if not len(planes):
            return np.zeros(0)
        oracle, own = self.own(planes)
        return oracle.values(view.of(oracle), own)

    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        if len(planes):
            oracle, own = self.own(planes)
            oracle.accumulate(own, weights, out)

    def total(self, dim: int) -> PiecedTotal:
        return PiecedTotal(self, dim)

    def decode(self, view: PiecedView, rows: np.ndarray) -> Any:
        oracle, start = self.opened(rows)
        return oracle.decode(view.of(oracle), rows - start)

    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        oracle, start = self.opened(rows)
        return oracle.losses(rows - start, outputs)

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        oracle, start = self.opened(rows)
        return oracle.correct(rows - start, outputs)

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        oracle, first = self.opened(np.array([start, stop - 1]))
        return oracle.contents(start - first, stop - first)

    def public(self, outputs: Any) -> Any:
        return self._frame.public(outputs)

    def keys(self, outputs: Any) -> np.ndarray:
        return self._frame.keys(outputs)

    def feature_shares(self) -> np.ndarray | None:
        if self._frame.feature_shares() is None:
            return None
        parts: Iterator[Any] = (oracle.feature_shares() * oracle.extent for oracle in self._all())  # type: ignore[operator]
        return reduce(add, parts) / max(1, self.extent)

    # --- planes, which are kept by the piece -----------------------------------------------

    def slots(self, size: int) -> np.ndarray:
        assert not size, "planes are kept by the piece"
        return np.zeros(0, dtype=np.int64)

    def pack(self, planes: Planes) -> dict[str, np.ndarray]:
        raise NotImplementedError("planes are kept by the piece")

    def unpack(self, arrays: dict[str, np.ndarray]) -> Planes:
        raise NotImplementedError("planes are kept by the piece")

    # --- facts of all examples -------------------------------------------------------------

    def unfit(self) -> dict[int, str]:
        starts = self._starts.tolist()
        return {
            start + row: why
            for start, piece in zip(starts, self._pieces, strict=False)
            for row, why in piece.unfit.items()
        }

    def unseen(self) -> Counter[str]:
        return sum((piece.unseen for piece in self._pieces), Counter())

    def take(self, rows: np.ndarray) -> PiecedOracle:
        """Refuse dropped examples: sums would differ from those in memory."""
        edges = np.searchsorted(rows, self._starts)
        kept = [
            _taken(piece, rows[low:high] - start)
            for piece, start, low, high in zip(
                self._pieces, self._starts, edges[:-1], edges[1:], strict=False
            )
        ]
        new = PiecedOracle(self._frame, [piece for piece in kept if piece.n] or kept[:1])
        new.names = self.names.take(rows)
        return new

    def class_weights(self) -> np.ndarray | None:
        if self._frame.class_weights() is None:
            return None
        parts = [oracle.class_weights() for oracle in self._all()]
        return np.concatenate([part for part in parts if part is not None])

    def norms(self) -> tuple[np.ndarray, float | None]:
        parts = [oracle.norms() for oracle in self._all()]
        known = [square for _, square in parts if square is not None]
        square_radius = max(known) if len(known) == len(parts) else None
        return np.concatenate([norms for norms, _ in parts]), square_radius

    @property
    def n_bytes(self) -> int:
        return max(piece.n_bytes for piece in self._pieces)

    @property
    def all_bytes(self) -> int:
        """The memory of all pieces together."""
        return sum(piece.n_bytes for piece in self._pieces)

    # --- pieces ----------------------------------------------------------------------------

    def part(self, number: int) -> tuple[Oracle, slice]:
        """Return the oracle of a piece, and the piece's rows in the shard."""
        return self._open(number), slice(*self._starts[number : number + 2].tolist())

    def own(self, planes: Planes) -> tuple[Oracle, Planes]:
        """Return the oracle of the planes' piece, and the planes with its row numbers."""
        oracle, start = self.opened(planes.row)
        return oracle, replace(planes, row=planes.row - start)

    def opened(self, rows: np.ndarray) -> tuple[Oracle, int]:
        """Return the oracle of the piece with these rows, and the number of its first row."""
        number = int(np.searchsorted(self._starts, rows[0], side="right")) - 1
        start, stop = int(self._starts[number]), int(self._starts[number + 1])
        assert start <= rows.min() <= rows.max() < stop, "rows of two pieces in one call"
        return self._open(number), start

    def _open(self, number: int) -> Oracle:
        piece = self._pieces[number]
        if getattr(_here, "piece", None) is not piece:
            _here.piece = _here.oracle = (
                None  # its memory is released before the next piece is read
            )
            start = int(self._starts[number])
            _here.oracle = piece.open(self.names.take(range(start, start + piece.n)))
            if self.penalty != "linear":
                _here.oracle.penalise(self.penalty)
            _here.piece = piece
        _here.oracle.ends_at = self.ends_at
        return _here.oracle

    def _all(self) -> Iterator[Oracle]:
        return (self._open(number) for number in range(len(self._pieces)))


def _taken(piece: Piece, rows: np.ndarray) -> Piece:
    """Return these rows of the piece."""
    if rows.size == piece.n:
        return piece

    def opened(names: Names) -> Oracle:
        oracle = piece.open(Names(range(piece.n))).take(rows)
        oracle.names = names
        return oracle

    weight = None if piece.weight is None else piece.weight[rows]
    extent = piece.extent * rows.size // piece.n
    # A piece with unfit rows is the rest of its rows, which have no unseen labels.
    return Piece(rows.size, extent, piece.n_bytes, {}, Counter(), weight, opened)


class PiecedView:
    """w, and its form for the piece of the last call."""

    def __init__(self, w: np.ndarray) -> None:
        self._w = w
        self._oracle: Oracle | None = None
        self._view: Any = None

    def of(self, oracle: Oracle) -> Any:
        if oracle is not self._oracle:
            self._oracle, self._view = oracle, oracle.view(self._w)
        return self._view


class PiecedTotal(Total):
    """One sum over the planes of all pieces, to which each piece adds."""

    def __init__(self, oracle: PiecedOracle, dim: int) -> None:
        self._oracle, self._dim = oracle, dim
        self._piece: Oracle | None = None
        self._total: Total | None = None

    def move(self, algebra: PlaneAlgebra) -> None:
        assert algebra is self._oracle, "a shard in pieces is summed by itself"

    def add(self, planes: Planes, weights: np.ndarray) -> None:
        if not len(planes):
            return
        piece, own = self._oracle.own(planes)
        if self._total is None:
            self._total = piece.total(self._dim)
        elif piece is not self._piece:
            self._total.move(piece)
        self._piece = piece
        self._total.add(own, weights)

    def vector(self) -> Vector:
        return compact(np.zeros(self._dim)) if self._total is None else self._total.vector()
