"""The dual point of lost workers: the sum of their planes at the loss, which still counts in w."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distsvm import checks
from distsvm.messages import Holding
from distsvm.risks.points import LinearPoint
from distsvm.vectors import Vector


@dataclass
class Frozen:
    """The dual point of some blocks, on the driver until the blocks have found a better one.

    "Frozen" is these blocks' point that counts in w: at first their point when a worker was lost.
    "Live" is their new point since then. It starts from the other blocks' point, without frozen, so
    it becomes as good as frozen. After every round frozen moves towards live by the best step for
    the dual, so the dual never falls. When it has moved all of the way, nothing is frozen.

    Parameters
    ----------
    blocks : frozenset of int
    a, b : point and float
        Σ α·p and Holding.net of frozen, which is Σ α·q for the linear penalty. On the way from
        frozen to live, net counts as if it were linear: costs of Σ α are convex, so the dual is at
        least what this says.
    apart, linear : point and float
        The differences of a and b, frozen minus live.
    """

    blocks: frozenset[int]
    a: LinearPoint
    b: float
    apart: LinearPoint
    linear: float

    @classmethod
    def of(
        cls, w: np.ndarray, net: float, holdings: Sequence[Holding], blocks: frozenset[int]
    ) -> Frozen:
        """Return these blocks' part of w = Σ α·p and of net after a loss: all but the others' part.

        `holdings` are the current sums of all blocks.
        """
        a, b = LinearPoint(np.array(w)), net
        for block, holding in enumerate(holdings):
            if block not in blocks:
                a.add(-1.0, holding.a)
                b -= holding.net
        frozen = cls(blocks, a, b, a, b)
        frozen.compare(holdings)
        return frozen

    def compare(self, holdings: Sequence[Holding]) -> None:
        """Set live to the blocks' current sums."""
        self.apart, self.linear = self.a.copy(), self.b
        for block in sorted(self.blocks):
            self.follow(holdings[block].a, holdings[block].net)

    def follow(self, u: Vector, net: float, share: float = 1.0) -> None:
        """Change live by this share of (u, net)."""
        self.apart.add(-share, u)
        self.linear -= share * net

    def rescale(self, factor: float) -> None:
        """Multiply frozen and live by `factor`, as their α."""
        self.a, self.b = self.a.scaled(factor), factor * self.b
        self.apart, self.linear = self.apart.scaled(factor), factor * self.linear

    def step(self, model: LinearPoint) -> float:
        """Return the best part of the way to live for the dual; w contains frozen."""
        square = self.apart.norm2
        slope = model.inner(self.apart.w) - self.linear
        if square == 0:
            return 1.0 if slope >= 0 else 0.0
        return min(1.0, max(0.0, slope / square))

    def move(self, step: float) -> None:
        """Move frozen this part of the way to live."""
        self.a.add(-step, self.apart)
        self.b -= step * self.linear
        self.apart.shrink(1.0 - step)
        self.linear *= 1.0 - step

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays for a checkpoint."""
        return {
            "frozen_blocks": np.array(sorted(self.blocks)),
            "frozen_a": self.a.w,
            "frozen_apart": self.apart.w,
            "frozen_reals": np.array([self.b, self.linear]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Frozen | None:
        """Return the point from the result of `arrays`; None if nothing was frozen."""
        if "frozen_a" not in arrays:
            return None
        b, linear = checks.vector("frozen_reals", arrays["frozen_reals"], "f8", 2).tolist()
        blocks = frozenset(arrays["frozen_blocks"].tolist())
        return cls(
            blocks,
            LinearPoint(np.array(arrays["frozen_a"])),
            b,
            LinearPoint(np.array(arrays["frozen_apart"])),
            linear,
        )
