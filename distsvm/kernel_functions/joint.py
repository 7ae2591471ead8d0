"""Joint kernel functions of inputs and outputs, behind one interface that a structure implements.

⟨Ψ(x, y), Ψ(x′, y′)⟩ = Σ_t Σ_s K(x_t, x′_s)·⟨Λ(y_t), Λ(y′_s)⟩ + ⟨e(y), e(y′)⟩

x_t are the atoms of an input (the row of a class, the tokens of a sequence), Λ the codes of their
outputs, and e the part that has features of its own, such as η times the counts of transitions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.features import Rows
from distsvm.kernel_functions.function import KernelFunction
from distsvm.messages import Planes


@dataclass(frozen=True, eq=False)
class Expansion:
    """Σ_j K(a_j, ·) ⊗ c_j, and explicit features: a vector p, a sum of them, or w.

    Parameters
    ----------
    anchors : Rows of m atoms
        As `KernelFunction.anchors` gives them.
    codes : float64 array of shape (m, r)
        c_j.
    explicit : float64 array of shape (n_explicit,)
    """

    anchors: Rows
    codes: np.ndarray
    explicit: np.ndarray

    def scores(self, function: KernelFunction, atoms: Rows) -> np.ndarray:
        """Return Σ_j K(x_t, a_j)·c_j of each atom, shape (atoms, r), block by block."""
        out = np.empty((atoms.n_rows, self.codes.shape[1]))
        for rows, values in function.blocks(atoms, self.anchors):
            np.matmul(values, self.codes, out=out[rows.start : rows.stop])
        return out


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts in order."""
    first, *others = parts
    return first.joined(others) if others else first  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Entries:
    """p of some planes: for plane j the sum of K(x_t, ·) ⊗ c_t over its entries t, and features.

    Parameters
    ----------
    starts : int64 array of shape (m + 1,)
        Plane j has the entries starts[j] … starts[j + 1] − 1.
    atom : int64 array
        The number of each entry's atom.
    codes : float64 array of shape (entries, r)
        c_t.
    explicit : float64 array of shape (m, n_explicit)
    """

    starts: np.ndarray
    atom: np.ndarray
    codes: np.ndarray
    explicit: np.ndarray


class JointKernel(ABC):
    """One shard's examples for solvers that work with kernel values.

    A structure implements `entries`, `separate` and `diagonal`; the rest follows.
    """

    function: KernelFunction
    n_codes: int
    """r, the length of Λ."""
    n_explicit: int = 0
    atoms: Rows
    """The atoms of all examples, in order."""
    starts: np.ndarray
    """Example i has the atoms starts[i] … starts[i + 1] − 1."""
    numbers: np.ndarray
    """The places of the atoms in the training data."""

    @abstractmethod
    def entries(self, planes: Planes) -> Entries:
        """Return p of each plane; an atom whose code is 0 may be left out."""

    @abstractmethod
    def separate(self, scores: np.ndarray, explicit: np.ndarray, rows: np.ndarray) -> Any:
        """Return the Separation of these examples at a vector.

        `scores` has ⟨vector, K(x_t, ·) ⊗ ·⟩ of their atoms in order, shape (atoms, r), and
        `explicit` the vector's explicit part.
        """

    def anchors(self, which: np.ndarray) -> Rows:
        """Return these atoms as the right side of blocks."""
        return self.function.anchors(self.atoms.take(which), self.numbers[which])
