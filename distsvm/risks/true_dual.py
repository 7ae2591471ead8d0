"""A dual value that is a lower bound, from cuts that are none: α of the examples in the support.

The dual of a QP over sampled cuts bounds nothing. Its α give each plane (i, ŷ) of the support
α_i(ŷ) = Σ_k α_k·weight_k(i, ŷ). Scaled to Σ_ŷ α_i(ŷ) ≤ C·c_i / Σc they are feasible in the problem
of all examples, and so are the results of exact steps in blocks of examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from distsvm.data.features import Rows
from distsvm.data.ragged import offsets, spread
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.joint import Expansion, joined
from distsvm.qp.base import QPProblem
from distsvm.qp.native import NativeQP
from distsvm.risks.kernel_cut import KernelVector

BLOCK_PLANES = 256
"""Planes of a block of examples, whose dual is solved exactly."""
QP_SHARE = 1e-3
"""A block's QP is solved to this part of its gap."""


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible α of all examples: D, and w = Σ α·p as codes of atoms.

    Parameters
    ----------
    value, norm2 : float
        D and ‖w‖².
    number : int64 array
        The numbers of the atoms, increasing.
    expansion : Expansion
    n_values : int
        The kernel values that it took.
    """

    value: float
    norm2: float
    number: np.ndarray
    expansion: Expansion
    n_values: int


def true_dual(
    function: KernelFunction, vectors: Sequence[KernelVector], alpha: np.ndarray, share: float,
    n_sweeps: int, inputs: Callable[[np.ndarray], Rows],
) -> DualPoint | None:  # fmt: skip
    """Return a point of the dual after some sweeps over the support of these cuts' α.

    None if the support is empty, where w = 0 and D = 0.

    Parameters
    ----------
    share : float
        C / Σ c_i.
    inputs : function of numbers of atoms
        Returns the atoms as the left side of blocks.
    """
    used = np.flatnonzero(alpha > 0)
    vectors = [vectors[k] for k in used.tolist()]
    if not vectors or not sum(map(len, vectors)):
        return None
    support = Support.of(vectors, alpha[used], share, inputs)
    for _ in range(n_sweeps):
        support.sweep(function)
    return support.point(function)


class Support:
    """The planes of cuts with α > 0, each once, ordered by example.

    Attributes
    ----------
    alpha, q, cap : float64 arrays of shape (m,)
        Σ α of an example's planes is at most `cap`.
    """

    def __init__(
        self, number: np.ndarray, rows: Rows, left: Rows, first: np.ndarray, q: np.ndarray,
        cap: np.ndarray, starts: np.ndarray, atom: np.ndarray, codes: np.ndarray,
        explicit: np.ndarray, alpha: np.ndarray,
    ) -> None:  # fmt: skip
        self._number, self.rows, self.left = number, rows, left
        self.first, self.q, self.cap = first, q, cap
        self._starts, self._atom, self._codes, self._explicit = starts, atom, codes, explicit
        self.alpha, self.n_values = alpha, 0

    @classmethod
    def of(
        cls, vectors: Sequence[KernelVector], alpha: np.ndarray, share: float,
        inputs: Callable[[np.ndarray], Rows],
    ) -> Support:  # fmt: skip
        """Return the support, with α scaled to the caps."""
        number, kept_row = np.unique(
            np.concatenate([a.number_of_atom for a in vectors]), return_index=True
        )
        rows = joined([a.rows for a in vectors]).take(kept_row)
        example = np.concatenate([a.example for a in vectors])
        key = np.concatenate([a.key for a in vectors])
        order = np.lexsort((key, example))
        new = np.ones(order.size, bool)
        new[1:] = (np.diff(example[order]) != 0) | (np.diff(key[order]) != 0)
        place = np.empty(order.size, np.int64)
        place[order] = np.cumsum(new) - 1
        weight = np.concatenate(
            [share_k * a.weight for share_k, a in zip(alpha.tolist(), vectors, strict=True)]
        )
        own = np.bincount(place, weight)
        planes = order[new]  # one of each, by example
        first = np.flatnonzero(np.concatenate([[True], np.diff(example[planes]) != 0]))
        cap = share * np.concatenate([a.c for a in vectors])[planes[first]]
        lengths = np.concatenate([np.diff(a.starts) for a in vectors])
        entries = spread(offsets(lengths)[:-1][planes], lengths[planes])
        atoms = np.concatenate([a.number_of_atom[a.atom] for a in vectors])[entries]
        total = np.add.reduceat(own, first)
        factor = np.where(total > cap, cap / np.maximum(total, 1e-300), 1.0)
        return cls(
            number, rows, inputs(number), np.append(first, planes.size),
            np.concatenate([a.q for a in vectors])[planes], cap, offsets(lengths[planes]),
            np.searchsorted(number, atoms),
            np.concatenate([a.codes for a in vectors])[entries],
            np.concatenate([a.explicit for a in vectors])[planes],
            own * np.repeat(factor, np.diff(np.append(first, planes.size))),
        )  # fmt: skip

    def sweep(self, function: KernelFunction) -> None:
        """Solve the dual within one block of examples after the other."""
        table, explicit = self._sums()
        for examples, planes in self._blocks():
            block = self._block(function, planes, table, explicit)
            gradient, gram = block
            old = self.alpha[planes].copy()
            b = gradient + gram @ old
            lengths = np.diff(self.first)[examples]
            own = np.repeat(np.arange(lengths.size), lengths)
            problem = QPProblem(np.ascontiguousarray(gram), b, own, self.cap[examples].copy())
            found = NativeQP().solve(problem, old, QP_SHARE * max(problem.gap(old), 0.0))
            if found.value < problem.value(old):
                continue
            self.alpha[planes] = found.alpha
            self._add(table, explicit, planes, found.alpha - old)

    def point(self, function: KernelFunction) -> DualPoint:
        """Return D = Σ α·q − ½‖Σ α·p‖², computed anew, and w = Σ α·p."""
        table, explicit = self._sums()
        square = float(explicit @ explicit)
        for part, values in function.blocks(self.left, self.rows):
            self.n_values += values.size
            square += float(np.sum((values @ table) * table[part.start : part.stop]))
        value = float(self.alpha @ self.q) - 0.5 * square
        expansion = Expansion(self.rows, table, explicit)
        return DualPoint(value, square, self._number, expansion, self.n_values)

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Yield runs of examples, and their planes."""
        low = 0
        while low < self.first.size - 1:
            most = self.first[low] + BLOCK_PLANES
            high = max(low + 1, int(np.searchsorted(self.first, most, side="right")) - 1)
            yield slice(low, high), slice(int(self.first[low]), int(self.first[high]))
            low = high

    def _block(
        self, function: KernelFunction, planes: slice, table: np.ndarray, explicit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q − ⟨p, w⟩ and the Gram matrix of these planes."""
        starts = self._starts[planes.start : planes.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        which, place = np.unique(self._atom[entries], return_inverse=True)
        place, codes = place.ravel(), self._codes[entries]
        values = function.block(self.left.take(which), self.rows)
        self.n_values += values.size
        # Planes as rows of codes over the block's atoms, without those that are zero.
        r = codes.shape[1]
        p = np.zeros((starts.size - 1, which.size, r))
        np.add.at(p, (np.repeat(np.arange(starts.size - 1), np.diff(starts)), place), codes)
        own = self._explicit[planes]
        flat = p.reshape(starts.size - 1, -1)
        gradient = self.q[planes] - flat @ (values @ table).ravel() - own @ explicit
        among = np.einsum("ab,jbr->jar", values[:, which], p).reshape(starts.size - 1, -1)
        gram = flat @ among.T + own @ own.T
        return gradient, 0.5 * (gram + gram.T)

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ α·p: the codes of each atom, and the explicit features."""
        table = np.zeros((self.rows.n_rows, self._codes.shape[1]))
        explicit = np.zeros(self._explicit.shape[1])
        self._add(table, explicit, slice(0, self.q.size), self.alpha)
        return table, explicit

    def _add(
        self, table: np.ndarray, explicit: np.ndarray, planes: slice, alpha: np.ndarray
    ) -> None:
        starts = self._starts[planes.start : planes.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        change = np.repeat(alpha, np.diff(starts))[:, None] * self._codes[entries]
        np.add.at(table, self._atom[entries], change)
        explicit += alpha @ self._explicit[planes]
