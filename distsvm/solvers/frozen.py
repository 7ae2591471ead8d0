"""What is left of lost workers: the sum of their planes at the time, which goes on to count."""

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
    """The dual point of some blocks, kept by the driver until they have found a better one.

    Frozen is what counts of these blocks: at first what they had when a worker of theirs was lost.
    Live is what they have built up since, each from where the others are and not from where frozen
    is: so it comes to be as good as frozen, whatever that was. After every round frozen moves as
    far towards live as is best for the dual, which never falls so; when that is all of the way,
    nothing is frozen any more.

    Parameters
    ----------
    blocks : frozenset of int
    a, b : point and float
        Σ α·p and Σ α·q of frozen.
    apart, linear : point and float
        The same, less those of live.
    """

    blocks: frozenset[int]
    a: LinearPoint
    b: float
    apart: LinearPoint
    linear: float

    @classmethod
    def of(
        cls, w: np.ndarray, linear: float, holdings: Sequence[Holding], blocks: frozenset[int]
    ) -> Frozen:
        """After a loss, these blocks' part of w = Σ α·p and Σ α·q: what the others do not have.

        `holdings` are what all blocks have now.
        """
        a, b = LinearPoint(np.array(w)), linear
        for block, holding in enumerate(holdings):
            if block not in blocks:
                a.add(-1.0, holding.a)
                b -= holding.b
        frozen = cls(blocks, a, b, a, b)
        frozen.compare(holdings)
        return frozen

    def compare(self, holdings: Sequence[Holding]) -> None:
        """Take live anew from what all blocks have now."""
        self.apart, self.linear = self.a.copy(), self.b
        for block in sorted(self.blocks):
            self.follow(holdings[block].a, holdings[block].b)

    def follow(self, u: Vector, linear: float, share: float = 1.0) -> None:
        """Live has changed by this share of these."""
        self.apart.add(-share, u)
        self.linear -= share * linear

    def rescale(self, factor: float) -> None:
        """Both times `factor`, as their α are."""
        self.a, self.b = self.a.scaled(factor), factor * self.b
        self.apart, self.linear = self.apart.scaled(factor), factor * self.linear

    def step(self, model: LinearPoint) -> float:
        """The part of the way to live that is best for the dual, where w has frozen in it."""
        square = self.apart.norm2
        slope = model.inner(self.apart.w) - self.linear
        if square == 0:
            return 1.0 if slope >= 0 else 0.0
        return min(1.0, max(0.0, slope / square))

    def move(self, step: float) -> None:
        """Go this part of the way to live."""
        self.a.add(-step, self.apart)
        self.b -= step * self.linear
        self.apart.shrink(1.0 - step)
        self.linear *= 1.0 - step

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        return {
            "frozen_blocks": np.array(sorted(self.blocks)),
            "frozen_a": self.a.w,
            "frozen_apart": self.apart.w,
            "frozen_reals": np.array([self.b, self.linear]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Frozen | None:
        """What `arrays` gave, if it is among these."""
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
