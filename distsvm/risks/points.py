"""Points: w in the terms of its risk, so that no solver multiplies a vector itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.risks.algebra import advance
from distsvm.vectors import Vector, add_into, dot, mix, mix_into


class LinearPoint:
    """The point of a linear model: `w` is an array of length dim, also in checkpoints."""

    def __init__(self, w: np.ndarray) -> None:
        self.w = w

    @property
    def norm2(self) -> float:
        """‖w‖², computed at each call."""
        return dot(self.w, self.w)

    def inner(self, a: Vector) -> float:
        """Return ⟨a, w⟩ for the vector of a cut."""
        return dot(a, self.w)

    def mix(self, other: LinearPoint, share: float) -> LinearPoint:
        """Return (1 − share)·w + share·other, as a new point."""
        return LinearPoint(mix(self.w, other.w, share))

    def copy(self) -> LinearPoint:
        """Return a point with a copy of w."""
        return LinearPoint(np.array(self.w))

    def minus(self, other: LinearPoint) -> LinearPoint:
        """Return w − other, as a new point."""
        return LinearPoint(self.w - other.w)

    def scaled(self, factor: float) -> LinearPoint:
        """Return factor·w, as a new point."""
        return LinearPoint(factor * self.w)

    # --- changes in place ------------------------------------------------------------------

    def add(self, coefficient: float, a: Vector | LinearPoint) -> None:
        """w += coefficient·a."""
        add_into(self.w, coefficient, a.w if isinstance(a, LinearPoint) else a)

    def shrink(self, factor: float) -> None:
        """w *= factor."""
        self.w *= factor

    def approach(self, other: LinearPoint, share: float) -> None:
        """w = (1 − share)·w + share·other."""
        mix_into(self.w, other.w, share)

    def advance(self, vectors: Sequence[Vector], coefficients: np.ndarray) -> tuple[float, float]:
        """w += Σ coefficient·vector; return ⟨w, that sum⟩ with w as it was, and ‖that sum‖²."""
        return advance(self.w, vectors, coefficients)
