"""Planes in memory as flat lists over the weights in use; kernels/lists.py describes the lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distsvm.data.features import frozen
from distsvm.kernels import climb_lists, lists
from distsvm.kernels.climb import Held
from distsvm.kernels.lists import Active, Records
from distsvm.messages import Planes
from distsvm.oracles.climber import MAX_STEPS, Climber, HeldVectors, Visits
from distsvm.vectors import SparseVector, Vector, compact, index_type, to_dense

if TYPE_CHECKING:
    from distsvm.oracles.algebra import PlaneAlgebra

SPARE = 2
"""The room of an array over its contents when it is made; a full one is copied."""
ID_BYTES, PART_BYTES, TERM_BYTES, END_BYTES = 4, 20, 12, 4
WEIGHT_BYTES = 64
"""Of a weight in use: its id, its place in the table, and its numbers in a climber."""
FEW_WEIGHTS = 4096
"""The number of unused ids that may stay, however few others there are."""
FEW_ENTRIES = 4096
"""Room for ids, parts and terms that is never released, however few there are."""
SOME = 64
"""The number of examples whose lists are written, or dropped, at a time."""
MOST = 2**31
"""The limit of ids, parts and terms, because starts of records have 32 bits."""


class PlaneParts(NamedTuple):
    """Planes as signed sums of parts. Plane j has the terms starts[j] … starts[j + 1] − 1.

    Term t is `factor` times the part of that `key` of the plane's example; one key is the same part
    in all planes of an example. The part has the weights weights[entries[t]] …, with values from
    part_values()[at[t]] on, or all 1 where `at` is −1.
    """

    starts: np.ndarray
    key: np.ndarray
    factor: np.ndarray
    at: np.ndarray
    entries: np.ndarray
    weights: np.ndarray


class ListedVectors(HeldVectors):
    """Every p as a list of parts, every part as a list of ids of weights.

    The lists of an example are written on their first use. Where the lists of all examples do not
    fit into the memory, some are dropped after each use, and written again for the next.
    """

    def __init__(self, algebra: PlaneAlgebra, max_bytes: float) -> None:
        self._algebra, self._n = algebra, algebra.n
        self._max_bytes, self._beside = max_bytes, 0
        self.values = frozen(algebra.part_values())
        self._clear(0)

    def _clear(self, size: int) -> None:
        self._has = np.zeros(self._n, dtype=bool)
        ids, parts, terms = _room_for(np.zeros(3, np.int64))
        n = self._n
        self.records = Records(
            **ids, **parts, **terms, ends=np.zeros((n, size), np.int32),
            first=np.zeros((n, 3), np.uint32), length=np.zeros((n, 3), np.int32),
            used=np.zeros(3, np.int64), live=np.zeros(3, np.int64),
        )  # fmt: skip
        self.active = Active(
            np.empty(0, np.int64), np.empty(0, np.int32), np.full(1, -1, np.int32),
            np.zeros(2, np.int64),
        )  # fmt: skip
        self.times, self._zeros = np.empty(0), np.zeros(0)
        # The ids by their weights, and these weights.
        self._order, self._index = np.empty(0, np.int64), np.empty(0, np.int64)

    def least_bytes(self, size: int) -> int:
        records = self.records
        return records.first.nbytes + records.length.nbytes + END_BYTES * self._n * size

    def resize(self, size: int, beside: int) -> None:
        self._beside = beside
        ends = np.zeros((self._n, size), np.int32)
        before = self.records.ends[:, :size]
        ends[:, : before.shape[1]] = before
        self.records = self.records._replace(ends=ends)

    @property
    def n_bytes(self) -> int:
        lists = SPARE * int(self.records.live @ (ID_BYTES, PART_BYTES, TERM_BYTES))
        least = self.least_bytes(self.records.ends.shape[1])
        return least + lists + WEIGHT_BYTES * int(self.active.counts[1])

    @property
    def weights(self) -> np.ndarray:
        """The weights that have an id, by id."""
        return self.active.weight[: self.active.counts[0]]

    # --- new and dropped planes ------------------------------------------------------------

    def take_up(self, held: Held, outputs: Any) -> None:
        self._clear(held.q.shape[1])
        # Written now, so that the memory is the same as after one plane at a time.
        for rows in self.in_turn(held, outputs, np.arange(self._n)):
            if self._is_full:
                self._forget(rows)
                break

    def put(self, planes: Planes, slots: np.ndarray, counts: np.ndarray) -> None:
        kept = np.flatnonzero(self._has[planes.row] | (counts == 0))
        for start in range(0, kept.size, SOME):
            some = kept[start : start + SOME]
            if self._is_full:
                self._forget(planes.row[some])
            elif some.size == slots.size:  # the usual case: no term is left out
                self._put(planes, slots, counts)
            else:
                self._put(planes.take(some), slots[some], counts[some])

    def _put(self, planes: Planes, slots: np.ndarray, counts: np.ndarray) -> None:
        rows = planes.row
        order = np.tile(np.arange(self.records.ends.shape[1]), (rows.size, 1))
        order[np.arange(rows.size), slots] = -1
        parts = PlaneParts(*map(frozen, self._algebra.parts(planes)))
        self._write(rows, order, np.maximum(counts, slots + 1), parts)
        self._has[rows] = True

    def keep(self, rows: np.ndarray, order: np.ndarray, counts: np.ndarray) -> None:
        has = np.flatnonzero(self._has[rows])
        self._keep(rows[has], order[has], counts[has])

    def _keep(self, rows: np.ndarray, order: np.ndarray, counts: np.ndarray) -> None:
        none, starts = np.zeros(0, np.int64), np.zeros(rows.size + 1, np.int64)
        nothing = PlaneParts(starts, none, np.zeros(0), none, starts[:1], none)
        self._write(rows, order, counts, PlaneParts(*map(frozen, nothing)))

    def in_turn(self, held: Held, outputs: Any, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield these examples with their lists, as many at a time as the memory has room for."""
        rows = rows[held.count[rows] > 0]
        if self._has[rows].all() and not self._is_full:
            yield rows
            return
        for start in range(0, rows.size, SOME):
            some = rows[start : start + SOME]
            missing = some[~self._has[some]]
            for slot in range(int(held.count[missing].max(initial=0))):
                own = missing[held.count[missing] > slot]
                output = outputs[own * held.q.shape[1] + slot]
                slots = np.full(own.size, slot)
                self._put(Planes.linear(own, output, held.q[own, slot]), slots, slots)
            yield some
            if self._is_full:
                self._forget(some)

    def _forget(self, rows: np.ndarray) -> None:
        """Drop the lists of these examples until their next use."""
        self._keep(rows, np.zeros((rows.size, 0), np.int64), np.zeros(rows.size))
        self._has[rows] = False
        self._make_room(np.zeros(3, np.int64))

    @property
    def _is_full(self) -> bool:
        return self._beside + self.n_bytes > self._max_bytes or self.records.live.max() > MOST

    def _write(
        self, rows: np.ndarray, order: np.ndarray, counts: np.ndarray, planes: PlaneParts
    ) -> None:
        counts = counts.astype(np.int64)  # kernels are compiled once
        n, before = planes.key.size, int(self.active.counts[0])
        old = self.records.length[rows].sum(axis=0)
        self._make_room(old + np.array([planes.weights.size, n, n]))
        self._make_weights(planes.weights.size)
        lists.write_records(
            frozen(rows), frozen(order), frozen(counts), tuple(planes), self.records, self.active
        )
        self._count_times(before)

    def _make_room(self, needed: np.ndarray) -> None:
        """Make room for more ids, parts and terms, at most a few times the present ones."""
        old, wanted = self.records, SPARE * (self.records.live + needed)
        room = np.array([old.ids.size, old.key.size, old.terms.size])
        if (old.used + needed <= room).all() and (room <= SPARE * wanted + FEW_ENTRIES).all():
            return
        ids, parts, terms = _room_for(wanted)
        new = old._replace(**ids, **parts, **terms)
        lists.move_records(old, new)
        self.records = new

    def _make_weights(self, n_more: int) -> None:
        """Make room for n more ids."""
        active, n = self.active, int(self.active.counts[0])
        if n + n_more <= active.weight.size:
            return
        room = SPARE * (n + n_more)
        weight, uses = with_room(active.weight, n, room), with_room(active.uses, n, room)
        table = np.full(1 << int(2 * room - 1).bit_length(), -1, np.int32)
        self.active = Active(weight, uses, table, active.counts)
        lists.fill_table(self.active)

    def _count_times(self, before: int) -> None:
        """Compute the factors of changes of the weights from this id on."""
        times = self._algebra.times_of(self.weights[before:])
        if times is not None:
            self.times = np.concatenate([self.times[:before], times])

    def _forget_weights(self) -> None:
        """Drop unused weights once they are the majority; the others get new ids."""
        most = SPARE * int(self.active.counts[1]) + FEW_WEIGHTS
        if lists.forget_unused(self.records, self.active, most):
            lists.fill_table(self.active)
            self._count_times(0)
            self._order, self._index = self._order[:0], self._index[:0]

    # --- use -------------------------------------------------------------------------------

    def fill_gram(self, held: Held, outputs: Any, rows: np.ndarray, slots: np.ndarray) -> None:
        done = 0
        for some in self.in_turn(held, outputs, rows):
            if self._zeros.size < self.weights.size:
                self._zeros = np.zeros(self.active.weight.size)
            climb_lists.gram_of_lists(
                frozen(some), frozen(slots[done : done + some.size]), self.records, self.values,
                held, frozen(self.times), self._zeros,
            )  # fmt: skip
            done += some.size

    def climber(self, w: np.ndarray, sigma: float) -> ListClimber:
        self._forget_weights()
        return ListClimber(self._algebra, self, w, sigma)

    def sum(self, held: Held, outputs: Any, share: np.ndarray) -> Vector:
        out = np.zeros(self.weights.size)
        for rows in self.in_turn(held, outputs, np.flatnonzero(share.any(axis=1))):
            more = np.zeros(max(0, self.weights.size - out.size))
            out = np.concatenate([out, more]) if more.size else out
            climb_lists.sum_of_lists(frozen(rows), frozen(share), self.records, self.values, out)
        return self.vector(np.concatenate([out, np.zeros(self.weights.size - out.size)]))

    def vector(self, by_id: np.ndarray) -> Vector:
        """Return the vector with these numbers at the weights with an id."""
        self._sort()
        dim, n = self._algebra.dim, self._index.size
        index, value = np.empty(n, index_type(dim)), np.empty(n)
        n = lists.filled(frozen(by_id), frozen(self._order), frozen(self._index), index, value)
        return compact(SparseVector(index[:n], value[:n], dim))

    def _sort(self) -> None:
        """Merge new weights into the sorted ones."""
        n = self._order.size
        new = self.weights[n:]
        if new.size:
            order = np.argsort(new)
            places = np.searchsorted(self._index, new[order])
            self._order = np.insert(self._order, places, n + order)
            self._index = np.insert(self._index, places, new[order])


def with_room(numbers: np.ndarray, n: int, room: int) -> np.ndarray:
    """Return an array of length `room` that begins with the first n of these numbers."""
    out = np.empty(room, numbers.dtype)
    out[:n] = numbers[:n]
    return out


def _room_for(needed: np.ndarray) -> tuple[dict[str, np.ndarray], ...]:
    """Return arrays for these numbers of ids, parts and terms."""
    n_ids, n_parts, n_terms = needed.tolist()
    return (
        {"ids": np.empty(n_ids, np.uint32)},
        {
            "stops": np.empty(n_parts, np.int32), "at": np.empty(n_parts, np.int64),
            "key": np.empty(n_parts, np.int64),
        },
        {"terms": np.empty(n_terms, np.uint32), "factors": np.empty(n_terms)},
    )  # fmt: skip


class ListClimber(Climber):
    """Visits change a number for each weight in use; the oracle reads a copy of all of w.

    The copy is made on its first use, and updated before each later one.
    """

    def __init__(
        self, algebra: PlaneAlgebra, vectors: ListedVectors, w: np.ndarray, sigma: float
    ) -> None:
        self._algebra, self._vectors, self._w, self._sigma = algebra, vectors, w, sigma
        # By id: w as it was, w + σ·u, and what of that the copy of w has heard of; n have these.
        self._base, self._z, self._told = (np.empty(0) for _ in range(3))
        self._n = 0
        self._begun: np.ndarray | None = None
        self._copy: np.ndarray | None = None
        # Ids with changes that the copy of w does not have; None where any id may have some.
        self._touched: list[np.ndarray] | None = None

    def visit(self, held: Held, outputs: Any, rows: np.ndarray, tol: float) -> Visits:
        total = Visits()
        for some in self._vectors.in_turn(held, outputs, rows):
            self._extend()
            total = total.plus(self._visited(held, some, tol))
        return total

    def _visited(self, held: Held, rows: np.ndarray, tol: float) -> Visits:
        vectors, told = self._vectors, self._touched or []
        room = int(vectors.records.length[rows, 0].sum())
        if self._touched is None or sum(ids.size for ids in told) + room > self._n:
            self._touched, room = None, 0  # a list would be longer than that of all ids
        touched = np.empty(room, np.uint32)
        *visits, n = climb_lists.visit_lists(
            frozen(rows), vectors.records, vectors.values, held, self._sigma, MAX_STEPS, tol,
            frozen(vectors.times), self._z, touched,
        )  # fmt: skip
        if self._touched is not None:
            self._touched.append(touched[:n])
        return Visits(*visits)

    def _extend(self) -> None:
        """Make room for weights that came into use since."""
        vectors, n = self._vectors, self._n
        new, times = vectors.weights[n:], vectors.times[n:]
        if not new.size:
            return
        self._n += new.size
        own = self._w[new]
        if self._begun is not None:
            own += self._sigma * (times if times.size else 1.0) * self._begun[new]
        if self._n > self._base.size:
            room = vectors.active.weight.size
            self._base, self._z, self._told = (
                with_room(a, n, room) for a in (self._base, self._z, self._told)
            )
        for numbers in (self._base, self._z, self._told):
            numbers[n : self._n] = own

    def view(self) -> Any:
        vectors = self._vectors
        if self._copy is None:
            self._copy, self._told = np.array(self._w), self._base.copy()
            if self._begun is not None:
                self._copy += self._begun
        if self._touched is None:
            ids = np.arange(self._n, dtype=np.uint32)
        else:
            ids = np.concatenate([np.empty(0, np.uint32), *self._touched])
        climb_lists.tell_changes(
            frozen(ids), frozen(vectors.weights), frozen(vectors.times), self._sigma,
            frozen(self._z), self._told, self._copy,
        )  # fmt: skip
        self._touched = []
        return self._algebra.view(frozen(self._copy))

    def change(self) -> Vector:
        self._extend()
        vectors = self._vectors
        z, base = frozen(self._z[: self._n]), frozen(self._base[: self._n])
        return vectors.vector(climb_lists.changes(z, base, frozen(vectors.times), self._sigma))

    def begin(self, u: Vector) -> None:
        self._begun = to_dense(u)
