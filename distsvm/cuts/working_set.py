"""The driver's memory: cuts, their Gram matrix and the dual solution α."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from distsvm import checks
from distsvm.cuts.cut import Cut
from distsvm.qp.base import QPProblem, QPSolution
from distsvm.vectors import SparseVector, Vector

Combine: TypeAlias = "Callable[[Sequence[Vector], np.ndarray], Vector]"


class WorkingSet:
    """Cuts with α ≥ 0. A new cut costs one row of the Gram matrix; nothing is computed twice.

    The risk computes the rows: only it multiplies vectors.

    Parameters
    ----------
    limit : float64 array of shape (n_blocks,)
        Σ α of a block's cuts is at most this (C, for every block).
    """

    def __init__(self, limit: np.ndarray) -> None:
        self.limit = limit
        self.cuts: list[Cut] = []
        self.alpha = np.zeros(0)
        self.idle = np.zeros(0, dtype=np.int64)
        self.b = np.zeros(0)
        self.block = np.zeros(0, dtype=np.int64)
        self._gram = np.zeros((16, 16))

    def __len__(self) -> int:
        return len(self.cuts)

    @property
    def gram(self) -> np.ndarray:
        return self._gram[: len(self), : len(self)]

    @property
    def n_support(self) -> int:
        """Cuts with α > 0."""
        return int(np.count_nonzero(self.alpha))

    @property
    def n_bytes(self) -> int:
        return sum(cut.a.nbytes for cut in self.cuts) + self._gram.nbytes

    def add(self, cut: Cut, row: np.ndarray) -> None:
        """Add a cut; `row` has its products with the cuts before it and, last, with itself."""
        m = len(self)
        if m == self._gram.shape[0]:
            larger = np.zeros((2 * m, 2 * m))
            larger[:m, :m] = self._gram
            self._gram = larger
        self._gram[m, : m + 1] = self._gram[: m + 1, m] = row
        self.cuts.append(cut)
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.b = np.append(self.b, cut.b)
        self.block = np.append(self.block, cut.block)

    def problem(self) -> QPProblem:
        """Return the dual QP over these cuts."""
        return QPProblem(np.ascontiguousarray(self.gram), self.b, self.block, self.limit)

    def accept(self, solution: QPSolution) -> None:
        """Set α to the solution; a cut with α = 0 is idle for one more solve."""
        self.alpha = solution.alpha
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)

    def rescale(self, limit: np.ndarray, factor: float) -> None:
        """Set limits that are `factor` times the last ones, and multiply every α by it."""
        self.limit, self.alpha = limit, factor * self.alpha

    def linear(self) -> float:
        """Return Σ α·b, the linear part of the dual value."""
        return float(self.alpha @ self.b)

    def slack(self) -> np.ndarray:
        """Return ξ of each block at w = Σ α·a: max(0, largest b − ⟨a, w⟩)."""
        slack = np.zeros(self.limit.size)
        np.maximum.at(slack, self.block, self.b - self.gram @ self.alpha)
        return slack

    def drop_idle(self, n_solves: int) -> None:
        """Drop cuts that had α = 0 in the last `n_solves` solves; w and D do not change."""
        self._keep(np.flatnonzero(self.idle < n_solves))

    def shrink(self, max_cuts: int, combine: Combine) -> None:
        """Reduce the set to `max_cuts` cuts by merging cuts.

        The cuts of a block with the smallest α become one, (Σ α a, Σ α b) / Σ α, which is a cut
        too; w and D do not change. `combine(vectors, coefficients)` is the sum.
        """
        while len(self) > max_cuts:
            crowded = np.bincount(self.block).argmax()
            members = np.flatnonzero(self.block == crowded)
            if members.size < 2:
                return
            n_surplus = min(len(self) - max_cuts + 1, members.size - 1)
            order = members[np.argsort(self.alpha[members], kind="stable")]
            self._merge(np.sort(order[: max(2, n_surplus)]), combine)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the set as plain arrays: the cuts' vectors are rows, sparse or dense."""
        index: list[np.ndarray] = []
        value: list[np.ndarray] = []
        starts, dense = [0], []
        for cut in self.cuts:
            dense.append(not isinstance(cut.a, SparseVector))
            if isinstance(cut.a, SparseVector):
                index.append(cut.a.index.astype(np.int64))
                value.append(cut.a.value)
            else:
                value.append(cut.a)
            starts.append(starts[-1] + value[-1].size)
        return {
            "cut_index": np.concatenate([np.zeros(0, np.int64), *index]),
            "cut_value": np.concatenate([np.zeros(0), *value]),
            "cut_starts": np.array(starts),
            "cut_dense": np.array(dense, dtype=bool),
            "cut_b": self.b,
            "cut_block": self.block,
            "gram": self.gram.copy(),
            "alpha": self.alpha,
            "idle": self.idle,
        }

    @classmethod
    def from_arrays(cls, limit: np.ndarray, arrays: dict[str, np.ndarray], dim: int) -> WorkingSet:
        """Return the set from the result of `arrays`."""
        working = cls(limit)
        starts, place = arrays["cut_starts"], 0
        m = checks.vector("cut_dense", arrays["cut_dense"], "b").size
        checks.array("gram", arrays["gram"], "f8", (m, m))
        checks.within("cut_block", arrays["cut_block"], 0, limit.size, m)
        for name in ("cut_value", "cut_b", "alpha"):
            checks.finite(name, arrays[name], None if name == "cut_value" else m)
        checks.vector("idle", arrays["idle"], "i", m)
        checks.within("cut_index", arrays["cut_index"], 0, dim)
        checks.within("cut_starts", starts, 0, arrays["cut_value"].size + 1, m + 1)
        for j, is_dense in enumerate(arrays["cut_dense"].tolist()):
            value = arrays["cut_value"][starts[j] : starts[j + 1]]
            a: Vector = value
            if is_dense:
                checks.vector("a cut", value, "f8", dim)
            else:
                index = arrays["cut_index"][place : place + value.size]
                checks.vector("a cut's index", index, "i8", value.size)
                checks.increasing("a cut's index", index)
                a = SparseVector(index, value, dim)
                place += value.size
            cut = Cut(a, float(arrays["cut_b"][j]), int(arrays["cut_block"][j]))
            working.add(cut, arrays["gram"][j, : j + 1])
        working.alpha, working.idle = arrays["alpha"], arrays["idle"]
        return working

    def _merge(self, members: np.ndarray, combine: Combine) -> None:
        share = self.alpha[members]
        total = float(share.sum())
        if total > 0:
            share = share / total
            first = members[0]
            vectors: list[Vector] = [self.cuts[j].a for j in members]
            b = float(share @ self.b[members])
            a = combine(vectors, share)
            row = share @ self.gram[members]
            row[first] = share @ self.gram[np.ix_(members, members)] @ share
            self.cuts[first] = Cut(a, b, self.cuts[first].block)
            self._gram[first, : len(self)] = self._gram[: len(self), first] = row
            self.alpha, self.b = self.alpha.copy(), self.b.copy()
            self.alpha[first], self.b[first] = total, b
            members = members[1:]
        self._keep(np.setdiff1d(np.arange(len(self)), members))

    def _keep(self, kept: np.ndarray) -> None:
        if kept.size == len(self):
            return
        gram = self.gram[np.ix_(kept, kept)]
        self._gram[: kept.size, : kept.size] = gram
        self.cuts = [self.cuts[j] for j in kept]
        self.alpha, self.idle = self.alpha[kept], self.idle[kept]
        self.b, self.block = self.b[kept], self.block[kept]
