"""The best primal and dual values so far, and the w that the best primal belongs to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Bounds:
    """D ≤ optimum ≤ P: every certified primal and dual value narrows the gap, none widens it."""

    primal: float = math.inf
    dual: float = -math.inf
    w: np.ndarray | None = None
    exact: bool = True

    @property
    def gap(self) -> float:
        """Primal − dual; 0 where rounding has let the dual pass the primal by a last bit."""
        return max(0.0, self.primal - self.dual)

    @property
    def certificate(self) -> str:
        """What the primal value is: "exact", an "upper bound", or "none" before the first."""
        if self.w is None:
            return "none"
        return "exact" if self.exact else "upper bound"

    def add_primal(self, value: float, w: np.ndarray, exact: bool) -> bool:
        """Take P(w) from a fresh round at that very w; says whether it is the best yet."""
        if value >= self.primal:
            return False
        self.primal, self.w, self.exact = value, w, exact
        return True

    def add_dual(self, value: float) -> None:
        """Take the dual value of a feasible α."""
        self.dual = max(self.dual, value)
