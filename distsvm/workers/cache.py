"""The most recent planes of every example of a shard."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from distsvm import checks
from distsvm.messages import Planes
from distsvm.oracles.oracle import Oracle

NEVER = -1


class PlaneCache:
    """Stores outputs and q of up to `size` planes of each example; a new one replaces the oldest.

    A plane that is found or used again counts as recent. The truth's plane (0, 0) is not stored,
    because it is always (0, 0).
    """

    def __init__(self, oracle: Oracle, size: int) -> None:
        self.oracle, self.size = oracle, size
        shape = (oracle.n, size)
        self._key = np.zeros(shape, dtype=np.int64)
        self._q = np.zeros(shape)
        self._loss = self._q if oracle.q_is_loss else np.zeros(shape)
        self._stamp = np.full(shape, NEVER, dtype=np.int64)
        self._output = oracle.slots(size)
        self._clock = 0
        self.changed = np.zeros(oracle.n, dtype=bool)
        """Examples whose planes have changed since they were last written."""

    @property
    def n_planes(self) -> int:
        return int(np.count_nonzero(self._stamp != NEVER))

    @property
    def n_bytes(self) -> int:
        output = getattr(self._output, "nbytes", 0)
        loss = 0 if self._loss is self._q else self._loss.nbytes
        return self._key.nbytes + self._q.nbytes + loss + self._stamp.nbytes + output

    def insert(self, planes: Planes) -> None:
        """Store these planes, at most one of each example."""
        if not self.size:
            return
        self._clock += 1
        kept = np.flatnonzero(planes.loss > 0)
        if not kept.size:
            return
        planes = planes.take(kept)
        key = self.oracle.keys(planes.output)
        stamp = self._stamp[planes.row]
        same = (self._key[planes.row] == key[:, None]) & (stamp != NEVER)
        known = same.any(axis=1)
        slot = np.where(known, same.argmax(axis=1), stamp.argmin(axis=1))
        self.changed[planes.row[~known]] = True
        self._key[planes.row, slot] = key
        self._q[planes.row, slot], self._loss[planes.row, slot] = planes.q, planes.loss
        self._stamp[planes.row, slot] = self._clock
        self._output[planes.row * self.size + slot] = planes.output

    def best(self, view: object, rows: np.ndarray) -> tuple[Planes, np.ndarray]:
        """Return the cached plane with the largest value at w of each example, and the values.

        Examples whose best plane is the truth's (value 0) are left out. The returned planes count
        as used now.
        """
        place, slot = np.nonzero(self._stamp[rows] != NEVER)
        row = rows[place]
        planes = self._planes(row, slot)
        values = self.oracle.values(view, planes)
        table = np.full((rows.size, self.size), -np.inf)
        table[place, slot] = values
        highest = table.max(axis=1, initial=0.0)
        used = highest > 0
        row, slot = rows[used], np.argmax(table[used], axis=1) if used.any() else rows[used]
        self._clock += 1
        self._stamp[row, slot] = self._clock
        return self._planes(row, slot), highest[used]

    def _planes(self, row: np.ndarray, slot: np.ndarray) -> Planes:
        output = self._output[row * self.size + slot]
        q = self._q[row, slot]
        return Planes(row, output, q, q if self._loss is self._q else self._loss[row, slot])

    def state(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return the arrays that a later run needs to continue with the same bits.

        With `rows`, the planes are those of these examples alone; everything else is of all.
        """
        if not self.size:
            return {}
        filled = self._stamp != NEVER
        stamp = self._stamp[filled]
        if rows is not None:
            filled = filled & np.isin(np.arange(self.oracle.n), rows)[:, None]
        row, slot = np.nonzero(filled)
        return self.oracle.pack(self._planes(row, slot)) | {
            "slot": slot,
            "stamp": stamp,
            "clock": np.array(self._clock),
        }

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Restore the result of `state`, which always fits."""
        if not self.size:
            return True
        state = dict(named)
        planes = self.oracle.unpack(state)
        slot = checks.slots(planes.row, state["slot"], self.size)
        stamp = checks.vector("stamp", state["stamp"], "i", len(planes))
        clock = int(checks.array("clock", state["clock"], "i", ()))
        self._stamp[:] = NEVER
        self._key[planes.row, slot] = self.oracle.keys(planes.output)
        self._q[planes.row, slot], self._loss[planes.row, slot] = planes.q, planes.loss
        self._stamp[planes.row, slot] = stamp
        self._output[planes.row * self.size + slot] = planes.output
        self._clock = clock
        self.changed[:] = True
        return True
