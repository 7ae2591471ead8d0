"""PlaneStock: the planes of the dual ascent in a shard: outputs, q, α and Gram matrices."""

from __future__ import annotations

import numpy as np

from distsvm import checks
from distsvm.data.ragged import offsets
from distsvm.errors import ConfigError
from distsvm.kernels.climb import Held
from distsvm.messages import Planes
from distsvm.oracles.climber import Climber, Visits, held_places
from distsvm.oracles.oracle import Oracle
from distsvm.vectors import Vector
from distsvm.wording import message

FIRST_SIZE, LEAST_SIZE = 6, 2
GROWTH = 1.5
IDLE_VISITS = 12


class PlaneStock:
    """Planes of each example with their α; those with α > 0 are never dropped.

    A full example first drops the plane whose α has been 0 for the longest time. If all have α > 0,
    the stock grows for every example while `n_bytes` is within the limit; else the new plane is
    refused, and `n_refused` counts it. The stock begins with fewer than FIRST_SIZE planes where
    these do not fit.

    Parameters
    ----------
    total : float64 array of shape (n,)
        c_i·C / Σc, as Held.total.
    max_bytes : float
    """

    asks = False
    """Whether a visit finds the most violated output: then nobody has to ask before it."""

    def __init__(self, oracle: Oracle, total: np.ndarray, max_bytes: float) -> None:
        self.oracle, self.total, self.max_bytes = oracle, total, max_bytes
        self.n_refused = 0
        self.changed = np.zeros(oracle.n, dtype=bool)
        """Examples whose planes have changed since they were last written."""
        self.vectors = oracle.vectors(max_bytes)
        for size in range(FIRST_SIZE, LEAST_SIZE - 1, -1):
            self._make(size)
            self.vectors.resize(size, self._table_bytes)
            if self.n_bytes <= max_bytes:
                return
        raise ConfigError(
            message(
                "{plane_memory_mb}: {} planes of each of {} examples take {} MB, the limit of "
                "their block (or of their piece of it, an eighth of {worker_memory_mb}) is {} MB",
                LEAST_SIZE,
                f"{oracle.n:,}",
                f"{self.n_bytes / 2**20:.3g}",
                f"{max_bytes / 2**20:.3g}",
            )
        )

    def _make(self, size: int) -> None:
        """Make room for `size` planes of every example, all of it empty."""
        n = self.oracle.n
        self.size = size
        self.held = Held(
            count=np.zeros(n, np.int32), q=np.zeros((n, size)), alpha=np.zeros((n, size)),
            gram=np.zeros((n, size, size)), idle=np.zeros((n, size), np.int16), total=self.total,
            gap=np.zeros(n), squared=self.oracle.penalty == "quadratic",
        )  # fmt: skip
        self.loss = self.held.q if self.oracle.q_is_loss else np.zeros((n, size))
        self.key = np.zeros((n, size), np.int64)
        self.outputs = self.oracle.slots(size)

    # --- the planes ------------------------------------------------------------------------

    @property
    def n_bytes(self) -> int:
        return self._table_bytes + self.vectors.n_bytes

    @property
    def _table_bytes(self) -> int:
        held = self.held
        arrays = (held.count, held.total, held.gap, held.gram, *self._tables())
        return sum(array.nbytes for array in arrays) + getattr(self.outputs, "nbytes", 0)

    def _tables(self) -> list[np.ndarray]:
        """Return the arrays of the planes by slot, each array once."""
        held = self.held
        beside = [] if self.loss is held.q else [self.loss]
        return [held.q, held.alpha, held.idle, self.key, *beside]

    @property
    def n_planes(self) -> int:
        return int(self.held.count.sum())

    @property
    def n_support(self) -> int:
        """Planes with α > 0."""
        return int(np.count_nonzero(self.held.alpha))

    def support(self, alpha: np.ndarray) -> tuple[Planes, np.ndarray]:
        """Return the planes with α > 0, and their α, for any α of this stock's shape."""
        row, slot = np.nonzero(alpha)
        return self._planes(row, slot), alpha[row, slot]

    def _planes(self, row: np.ndarray, slot: np.ndarray) -> Planes:
        output, q = self.outputs[row * self.size + slot], self.held.q[row, slot]
        return Planes(row, output, q, q if self.loss is self.held.q else self.loss[row, slot])

    def sum(self, alpha: np.ndarray) -> tuple[Vector, float]:
        """Return Σ α·p and Σ α·q, for any α of this stock's shape."""
        row, slot = np.nonzero(alpha)
        linear = float(alpha[row, slot] @ self.held.q[row, slot])
        return self.vectors.sum(self.held, self.outputs, alpha), linear

    def cost(self, alpha: np.ndarray, other: np.ndarray) -> float:
        """Σ_i A_i·B_i·Σc/(c_i·C) of the quadratic penalty, A and B the sums of these α; else 0."""
        if not self.held.squared:
            return 0.0
        inverse = np.divide(1.0, self.total, out=np.zeros_like(self.total), where=self.total > 0)
        return float((alpha.sum(axis=1) * inverse) @ other.sum(axis=1))

    def filled_rows(self) -> np.ndarray:
        """Return the examples that a visit may change."""
        return np.flatnonzero(self.held.count)

    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        """As HeldVectors.climber."""
        return self.vectors.climber(w, sigma)

    def visit(self, climber: Climber, rows: np.ndarray, tol: float) -> Visits:
        """Raise the dual over the planes of each of these examples in turn."""
        return climber.visit(self.held, self.outputs, rows, tol)

    # --- new and dropped planes ------------------------------------------------------------

    def insert(self, planes: Planes) -> None:
        """Add planes from the oracle, at most one an example, and not the truth's."""
        if not len(planes):
            return
        key = self.oracle.keys(planes.output)
        known = (self.key[planes.row] == key[:, None]) & self._filled(planes.row)
        old = np.flatnonzero(known.any(axis=1))
        self.held.idle[planes.row[old], known[old].argmax(axis=1)] = 0
        new = np.flatnonzero(~known.any(axis=1))
        slot = self._free_slots(planes.row[new])
        if (slot < 0).any() and self._grow():
            slot = self._free_slots(planes.row[new])
        self.n_refused += int(np.count_nonzero(slot < 0))
        kept = new[slot >= 0]
        self._put(planes.take(kept), key[kept], slot[slot >= 0])

    def _free_slots(self, rows: np.ndarray) -> np.ndarray:
        """Return a slot for a plane of each of these examples; −1 where all have α."""
        held = self.held
        slot = held.count[rows].astype(np.int64)
        full = np.flatnonzero(slot == self.size)
        idle = np.where(held.alpha[rows[full]] > 0, -1, held.idle[rows[full]])
        slot[full] = np.where(idle.max(axis=1, initial=-1) < 0, -1, idle.argmax(axis=1))
        return slot

    def _put(self, planes: Planes, key: np.ndarray, slot: np.ndarray) -> None:
        held, row = self.held, planes.row
        self.changed[row] = True
        self.vectors.put(planes, slot, held.count[row])
        held.count[row] = np.maximum(held.count[row], slot + 1)
        self.key[row, slot], held.q[row, slot], self.loss[row, slot] = key, planes.q, planes.loss
        held.alpha[row, slot], held.idle[row, slot] = 0.0, 0
        self.outputs[row * self.size + slot] = planes.output
        self.vectors.fill_gram(held, self.outputs, row, slot)

    def _grow(self) -> bool:
        """Make room for more planes of every example, unless that would take too much memory."""
        size = int(np.ceil(GROWTH * self.size))
        # No plane is refused to leave room for lists: these can be made again.
        if self._bytes_for(size) + self.vectors.least_bytes(size) > self.max_bytes:
            return False
        old, tables, before = self.held, self._tables(), self.size
        planes, slot = self._all()
        self._make(size)
        self.vectors.resize(size, self._table_bytes)
        held = self.held
        held.count[:], held.gap[:] = old.count, old.gap
        for mine, theirs in zip(self._tables(), tables, strict=True):
            mine[:, :before] = theirs
        held.gram[:, :before, :before] = old.gram
        self.outputs[planes.row * size + slot] = planes.output
        return True

    def drop_idle(self) -> None:
        """Drop planes whose α was 0 in many visits."""
        held = self.held
        idle = (held.alpha == 0) & (held.idle >= IDLE_VISITS) & self._filled(slice(None))
        rows = np.flatnonzero(idle.any(axis=1))
        if not rows.size:
            return
        self.changed[rows] = True
        kept = self._filled(rows) & ~idle[rows]
        order = np.argsort(~kept, axis=1, kind="stable")  # the kept ones first, in their order
        for array in self._tables():
            array[rows] = np.take_along_axis(array[rows], order, axis=1)
        gram = np.take_along_axis(held.gram[rows], order[:, :, None], axis=1)
        held.gram[rows] = np.take_along_axis(gram, order[:, None, :], axis=2)
        held.count[rows] = kept.sum(axis=1)
        self.vectors.keep(rows, order, held.count[rows])
        row = np.repeat(rows, held.count[rows])
        moved, slot = np.nonzero(self._filled(rows))
        source = order[moved, slot]
        self.outputs[row * self.size + slot] = self.outputs[row * self.size + source]

    def _all(self) -> tuple[Planes, np.ndarray]:
        row, slot = held_places(self.held, np.arange(self.oracle.n))
        return self._planes(row, slot), slot

    def _filled(self, rows: np.ndarray | slice) -> np.ndarray:
        return np.arange(self.size) < self.held.count[rows][:, None]

    def rescale(self, total: np.ndarray, factor: float) -> None:
        """Change the sums of α: every α is multiplied by `factor`, and the truth has the rest.

        `n_refused` counts from here on.
        """
        self.total, self.n_refused = total, 0
        self.held = self.held._replace(total=total)
        self.held.alpha[:] *= factor
        self.held.gap[:] *= factor

    # --- checkpoints -----------------------------------------------------------------------

    def state(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return all that a later run needs to continue with the same bits.

        With `rows`, the planes are those of these examples; all other arrays are of all examples.
        """
        held, filled = self.held, self._filled(slice(None))
        rows = np.arange(self.oracle.n) if rows is None else rows
        row, slot = held_places(held, rows)
        return self.oracle.pack(self._planes(row, slot)) | {
            "slot": slot, "alpha": held.alpha[filled], "idle": held.idle[filled],
            "gap": held.gap, "size": np.array(self.size), "refused": np.array(self.n_refused),
            "gram": held.gram[self._pairs(rows)],
        }  # fmt: skip

    def room(self, state: dict[str, np.ndarray]) -> tuple[int, int]:
        """Return the shape of the α in a state."""
        return self.oracle.n, int(checks.array("size", state["size"], "i", ()))

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore the result of `state`."""
        planes = self.oracle.unpack(state)
        _, size = self.room(state)
        refused = int(checks.array("refused", state["refused"], "i", ()))
        n, m, row = self.oracle.n, len(planes), planes.row
        # All is checked before room is made, which takes memory only where it is filled. A stock
        # may have grown somewhat beyond its limit.
        if size < LEAST_SIZE or self._bytes_for(size) > GROWTH * self.max_bytes:
            raise ValueError(
                f"room for {size} planes of each example, which plane_memory_mb does not allow"
            )
        if size > FIRST_SIZE + m * GROWTH:
            raise ValueError(f"room for {size} planes of each example, where {m} are")
        slot = checks.slots(row, state["slot"], size)
        alpha = checks.finite("alpha", state["alpha"], m)
        gap = checks.finite("gap", state["gap"], n)
        idle = checks.within("idle", state["idle"], 0, 1 << 15, m)
        count = np.bincount(row, minlength=n)
        gram = checks.finite("gram", state["gram"], int((count**2).sum()))
        self._make(size)
        held = self.held
        held.count[:], held.gap[:] = count, gap
        held.q[row, slot], self.loss[row, slot] = planes.q, planes.loss
        held.alpha[row, slot], held.idle[row, slot] = alpha, idle
        self.key[row, slot] = self.oracle.keys(planes.output)
        self.outputs[row * self.size + slot] = planes.output
        held.gram[self._pairs(np.arange(n))] = gram  # made anew it might differ in a last bit
        self.vectors.resize(size, self._table_bytes)
        self.vectors.take_up(held, self.outputs)
        self.n_refused = refused
        self.changed[:] = True

    def _bytes_for(self, size: int) -> float:
        """Return n_bytes with room for `size` planes of each example."""
        held = self.held
        fixed = held.count.nbytes + held.total.nbytes + held.gap.nbytes
        by_plane = (self._table_bytes - fixed - held.gram.nbytes) / self.size
        return fixed + by_plane * size + held.gram.nbytes * (size / self.size) ** 2

    def _pairs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return example and both slots of every product of two planes of these examples."""
        count = self.held.count[rows].astype(np.int64)
        row = np.repeat(rows, count**2)
        place = np.arange(row.size) - np.repeat(offsets(count**2)[:-1], count**2)
        return row, *np.divmod(place, np.repeat(count, count**2))
