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

    def inner(self, function: KernelFunction, other: Expansion) -> float:
        """Return the inner product of two vectors."""
        values = function.block(self.anchors, other.anchors)
        return float(np.sum((values @ other.codes) * self.codes) + self.explicit @ other.explicit)

    def scores(self, function: KernelFunction, atoms: Rows) -> np.ndarray:
        """Return Σ_j K(x_t, a_j)·c_j of each atom, shape (atoms, r), block by block."""
        out = np.empty((atoms.n_rows, self.codes.shape[1]))
        for rows, values in function.blocks(atoms, self.anchors):
            np.matmul(values, self.codes, out=out[rows.start : rows.stop])
        return out


def combined(parts: Sequence[Expansion], weights: Sequence[float]) -> Expansion:
    """Return Σ weight·part."""
    first, *others = (part.anchors for part in parts)
    codes = np.concatenate(
        [weight * part.codes for part, weight in zip(parts, weights, strict=True)]
    )
    explicit = sum(
        (weight * part.explicit for part, weight in zip(parts, weights, strict=True)),
        np.zeros(parts[0].explicit.size),
    )
    return Expansion(first.joined(others) if others else first, codes, explicit)  # type: ignore[arg-type]


class JointKernel(ABC):
    """One shard's examples for solvers that work with kernel values.

    A structure implements `atoms`, `coefficients` and `separate`; the rest follows.
    """

    function: KernelFunction
    n_codes: int
    """r, the length of Λ."""
    n_explicit: int = 0
    atoms: Rows
    """The atoms of all examples, in order."""
    starts: np.ndarray
    """Example i has the atoms starts[i] … starts[i + 1] − 1."""

    @abstractmethod
    def coefficients(
        self, planes: Planes, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ weight·p: numbers of atoms (m,), their codes (m, r), and explicit features.

        Atoms may be named several times, or left out where their code is 0.
        """

    @abstractmethod
    def separate(self, scores: np.ndarray, explicit: np.ndarray, rows: np.ndarray) -> Any:
        """Return the Separation of examples, given the scores (atoms of all, r) of a vector."""

    @abstractmethod
    def decode(self, scores: np.ndarray, explicit: np.ndarray, rows: np.ndarray) -> Any:
        """Return the outputs of the highest score."""

    def expansion(self, planes: Planes, weights: np.ndarray, first: int = 0) -> Expansion:
        """Return Σ weight·p as anchors; the shard's first atom is number `first` of all data's."""
        numbers, codes, explicit = self.coefficients(planes, weights)
        kept, place = np.unique(numbers, return_inverse=True)
        summed = np.zeros((kept.size, self.n_codes))
        np.add.at(summed, place.ravel(), codes)
        anchors = self.function.anchors(self.atoms.take(kept), kept + first)
        return Expansion(anchors, summed, explicit)
