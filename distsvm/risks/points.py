"""Points: w in the terms of its risk, so that no solver multiplies a vector itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from distsvm.risks.algebra import advance
from distsvm.vectors import Vector, add_into, dot, mix, mix_into

P = TypeVar("P", bound="Point")


class LinearPoint:
    """A w that is an array of length dim."""

    def __init__(self, w: np.ndarray) -> None:
        self.w = w

    @property
    def norm2(self) -> float:
        return dot(self.w, self.w)

    def inner(self, a: Vector) -> float:
        return dot(a, self.w)

    def mix(self, other: LinearPoint, share: float) -> LinearPoint:
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
