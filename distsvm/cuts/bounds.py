"""The best primal and dual values so far, and the w that the best primal belongs to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distsvm import checks
from distsvm.errors import DataError, DistSVMError

# How far above the primal value rounding may take the dual one, of its size.
ROUNDING = 1e-9
# Solvers work towards this relative gap where a coarser one is wanted.
COARSEST = 0.5


@dataclass(frozen=True)
class Target:
    """The gap that ends a run: C·eps, rel_gap·primal, or the larger where both are given."""

    eps: float | None = None
    rel_gap: float | None = None

    def reached(self, C: float, gap: float, primal: float) -> str | None:
        """Return the name of the rule that a certified gap fulfils; None if it is too large."""
        if math.isinf(gap):  # without a certificate, the primal is infinite too
            return None
        if self.eps is not None and gap <= C * self.eps:
            return "eps"
        if self.rel_gap is not None and gap <= self.rel_gap * abs(primal):
            return "rel_gap"
        return None

    def working_eps(self, C: float, dual: float) -> float:
        """Return the eps to work towards at this dual value, in units of the loss.

        For dual ≥ 0 and r = rel_gap < 1, primal − dual ≤ r·primal is the same as
        primal − dual ≤ r/(1 − r)·dual. The right side never falls during a run and needs no primal
        value, so work at this eps is never too coarse for the end.
        """
        r = min(self.rel_gap or 0.0, COARSEST)
        return max(self.eps or 0.0, r / (1 - r) * max(0.0, dual) / C)


@dataclass
class Bounds:
    """D ≤ optimum ≤ P: every certified primal and dual value narrows the gap, none widens it."""

    primal: float = math.inf
    dual: float = -math.inf
    w: np.ndarray | None = None
    exact: bool = True
    estimated: bool = False

    @property
    def gap(self) -> float:
        """Primal − dual; 0 where the dual is above the primal by rounding."""
        gap = self.primal - self.dual
        if gap < -ROUNDING * abs(self.primal):
            raise DistSVMError(
                f"the dual value {self.dual!r} is above the primal value {self.primal!r}: a cut is "
                "no cut of this problem (an oracle that is not exact, or planes of another run)"
            )
        return max(0.0, gap)

    @property
    def certificate(self) -> str:
        """The kind of the primal value: "exact", "upper bound", or "none" before the first.

        "estimate" is the upper end of a confidence interval.
        """
        if self.primal == math.inf:
            return "none"
        if self.estimated:
            return "estimate"
        return "exact" if self.exact else "upper bound"

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the bounds as plain arrays, for a checkpoint."""
        return {
            "best_w": np.zeros(0) if self.w is None else self.w,
            "bounds": np.array([self.primal, self.dual, self.exact - 2 * self.estimated]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Bounds:
        """Return the bounds from the result of `arrays`, which may be among other arrays."""
        primal, dual, exact = checks.vector("bounds", arrays["bounds"], "f8", 3).tolist()
        w = arrays["best_w"] if arrays["best_w"].size else None
        if (w is None) != (primal == math.inf):
            raise ValueError(f"best_w has {arrays['best_w'].size} values, the primal is {primal}")
        return cls(primal, dual, w, exact > 0, exact < 0)

    def rescaled(self, factor: float) -> Bounds:
        """Return the bounds at C times `factor`: R(w) does not change, and P(w) grows with C."""
        if self.w is None:
            return Bounds(dual=0.0)
        half = 0.5 * float(self.w @ self.w)
        primal = half + factor * (self.primal - half)
        return Bounds(primal, self.dual if factor >= 1 else 0.0, self.w, self.exact)

    def add_primal(self, value: float, w: np.ndarray, exact: bool) -> None:
        """Take P(w) from a fresh round at that very w."""
        if not math.isfinite(value):
            raise DataError(
                f"the primal value is {value}: features, losses, weights or C are too large for "
                "64-bit numbers; scale them down"
            )
        if value < self.primal or self.estimated:
            self.primal, self.w, self.exact, self.estimated = value, w, exact, False

    def add_estimate(self, value: float, w: np.ndarray) -> None:
        """Take an estimate of P(w), which replaces an earlier one and no certified value."""
        if self.primal == math.inf or self.estimated:
            self.primal, self.w, self.estimated = value, w, True

    def add_dual(self, value: float) -> None:
        """Take the dual value of a feasible α."""
        self.dual = max(self.dual, value)
