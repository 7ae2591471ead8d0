"""The working set of n-slack: planes of single examples, and the dual solution α over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.ragged import offsets, spread
from distsvm.kernels import plane_qp
from distsvm.messages import Violated
from distsvm.workers.support import SupportTable, packed_texts, unpacked_texts


def support_of(arrays: Mapping[str, np.ndarray]) -> SupportTable | None:
    """Return the planes with α > 0 of a PlaneSet's arrays, largest α first; None without such."""
    if "plane_alpha" not in arrays:
        return None
    alpha, number, loss = (arrays[f"plane_{name}"] for name in ("alpha", "number", "loss"))
    texts = unpacked_texts("plane_output", arrays, alpha.size)
    some = np.flatnonzero(alpha)
    lines = [texts[j] for j in some.tolist()]
    return SupportTable.joined([SupportTable(number[some], alpha[some], loss[some], lines, 0)])


class PlaneSet:
    """Planes of all examples with α ≥ 0, stored over the positions of w that occur in them.

    No Gram matrix is kept: its size would be the square of the number of planes.

    Attributes
    ----------
    example, number, key : int64 arrays of shape (m,)
        The example in the order of hosts, its number in the data, and the key of the output.
    weight, q, loss, alpha, norm : float64 arrays of shape (m,)
    idle : int64 array of shape (m,)
        Solves in a row that left α at 0.
    ids : int64 array
        The position in w of each compact place.
    index, value, starts : arrays
        p of each plane: compact places, which increase, and values.
    output : list of str
        ŷ of each plane as JSON.
    """

    _ROWS: ClassVar[dict[str, str]] = {
        "example": "i8", "number": "i8", "key": "i8", "idle": "i8", "weight": "f8", "q": "f8",
        "loss": "f8", "alpha": "f8",
    }  # fmt: skip

    def __init__(self, dim: int) -> None:
        for name, kind in self._ROWS.items():
            setattr(self, name, np.zeros(0, kind))
        self.norm = np.zeros(0)
        self.ids, self.index, self.value = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
        self.starts, self.output = np.zeros(1, np.int64), []
        self._place, self._known = np.full(dim, -1, np.int32), set()

    example: np.ndarray
    number: np.ndarray
    key: np.ndarray
    idle: np.ndarray
    weight: np.ndarray
    q: np.ndarray
    loss: np.ndarray
    alpha: np.ndarray
    output: list[str]
    _known: set[tuple[int, int]]

    def __len__(self) -> int:
        return self.q.size

    @property
    def n_support(self) -> int:
        """Planes with α > 0."""
        return int(np.count_nonzero(self.alpha))

    @property
    def n_bytes(self) -> int:
        rows = sum(getattr(self, name).nbytes for name in self._ROWS) + self.norm.nbytes
        entries = self.index.nbytes + self.value.nbytes + self.ids.nbytes + self.starts.nbytes
        return rows + entries + self._place.nbytes + sum(map(len, self.output))

    @property
    def p(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The planes' p in the kernels' form."""
        return self.index, self.value, self.starts

    def is_new(self, example: int, key: int) -> bool:
        """Return whether no plane of the example has this key."""
        return (example, key) not in self._known

    def add(self, found: Violated, first: int) -> None:
        """Add new planes, all of different outputs, of the host whose first example is `first`."""
        m = len(found)
        new = np.unique(found.index[self._place[found.index] < 0])
        self._place[new] = self.ids.size + np.arange(new.size)
        self.ids = np.append(self.ids, new.astype(np.int64))
        place = self._place[found.index]
        order = np.lexsort((place, np.repeat(np.arange(m), found.length)))
        starts = offsets(found.length)
        value = found.value[order]
        rows = {
            "example": found.row + first, "number": found.number, "key": found.key,
            "idle": np.zeros(m, np.int64), "weight": found.weight, "q": found.q,
            "loss": found.loss, "alpha": np.zeros(m),
        }  # fmt: skip
        for name, array in rows.items():
            setattr(self, name, np.append(getattr(self, name), array))
        self.index, self.value = np.append(self.index, place[order]), np.append(self.value, value)
        self.starts = np.append(self.starts, self.starts[-1] + starts[1:])
        self.norm = np.append(self.norm, _square_norms(value, starts))
        self.output = self.output + found.output
        self._known.update(zip(rows["example"].tolist(), found.key.tolist(), strict=True))

    # --- values and sums -------------------------------------------------------------------

    def values(self, w: np.ndarray) -> np.ndarray:
        """Return q − ⟨p, w⟩ of each plane."""
        values = np.empty(len(self))
        plane_qp.values_of(*self.p, self.q, w[self.ids], values)
        return values

    def slack(self, w: np.ndarray, n: int) -> np.ndarray:
        """Return these planes' lower bound of each example's ξ: max(0, largest q − ⟨p, w⟩)."""
        slack = np.zeros(n)
        np.maximum.at(slack, self.example, self.values(w))
        return slack

    def sum(self) -> np.ndarray:
        """Return Σ α·p as a dense array."""
        inner = np.zeros(self.ids.size)
        plane_qp.sum_of(*self.p, self.alpha, inner)
        w = np.zeros(self._place.size)
        w[self.ids] = inner
        return w

    def linear(self) -> float:
        """Return Σ α·q."""
        return float(self.alpha @ self.q)

    def cost(self, d: np.ndarray) -> float:
        """Return ½ Σ d_i·A_i², A_i = Σ α of example i, for the examples of `blocks` in order."""
        _, place = np.unique(self.example, return_inverse=True)
        total = np.bincount(place.ravel(), self.alpha, d.size)
        return 0.5 * float(d @ total**2)

    def blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return planes ordered by example, the first place of each example, and the examples."""
        order = np.argsort(self.example, kind="stable")
        examples, counts = np.unique(self.example, return_counts=True)
        return order, offsets(counts), examples

    # --- changes ---------------------------------------------------------------------------

    def solved(self) -> None:
        """Count one more idle solve of each plane with α = 0; call it after each solve."""
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)

    def drop_idle(self, n_solves: int) -> None:
        """Drop planes whose α was 0 in the last `n_solves` solves; w and D do not change."""
        kept = np.flatnonzero(self.idle < n_solves)
        if kept.size == len(self):
            return
        lengths = np.diff(self.starts)[kept]
        entries = spread(self.starts[kept], lengths)
        self.index, self.value = self.index[entries], self.value[entries]
        self.starts, self.norm = offsets(lengths), self.norm[kept]
        for name in self._ROWS:
            setattr(self, name, getattr(self, name)[kept])
        self.output = [self.output[j] for j in kept.tolist()]
        self._known = set(zip(self.example.tolist(), self.key.tolist(), strict=True))

    # --- checkpoints -----------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the set as plain arrays."""
        return {f"plane_{name}": getattr(self, name) for name in self._ROWS} | {
            "plane_ids": self.ids, "plane_index": self.index, "plane_value": self.value,
            "plane_starts": self.starts, **packed_texts("plane_output", self.output),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], dim: int, n_examples: int) -> PlaneSet:
        """Return the set from the result of `arrays`, which may come from an untrusted file."""
        planes = cls(dim)
        m = checks.finite("plane_q", arrays["plane_q"]).size
        for name, kind in cls._ROWS.items():
            array = arrays[f"plane_{name}"]
            if kind == "f8":
                checks.finite(name, array, m)
            else:
                checks.vector(name, array, "i", m)
            setattr(planes, name, array)
        checks.within("plane_example", planes.example, 0, n_examples)
        if (planes.alpha < 0).any() or (planes.weight <= 0).any():
            raise ValueError("a plane has α < 0 or no weight")
        planes.ids = checks.within("plane_ids", arrays["plane_ids"], 0, dim).astype(np.int64)
        value = checks.finite("plane_value", arrays["plane_value"])
        index = arrays["plane_index"]
        planes.index = checks.within("plane_index", index, 0, planes.ids.size, value.size)
        planes.value = value
        planes.starts = checks.starts("plane_starts", arrays["plane_starts"], value.size, m)
        if np.unique(planes.ids).size != planes.ids.size:
            raise ValueError("plane_ids has an id twice")
        planes._place[planes.ids] = np.arange(planes.ids.size)
        planes.output = unpacked_texts("plane_output", arrays, m)
        planes.norm = _square_norms(value, planes.starts)
        planes._known = set(zip(planes.example.tolist(), planes.key.tolist(), strict=True))
        return planes


def _square_norms(value: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return ‖p‖² of each plane; its bits do not depend on the other planes."""
    norms = np.empty(starts.size - 1)
    plane_qp.square_norms(value, starts, norms)
    return norms
