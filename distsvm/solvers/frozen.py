"""What is left of lost workers: the sum of their planes at the time, which goes on to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distsvm import checks
from distsvm.messages import Holding
from distsvm.vectors import Vector, add_into, dot


@dataclass
class Frozen:
    """The dual point of some blocks is θ·frozen + (1 − θ)·live, a point as good as any.

    Frozen is what the blocks had when a worker of theirs was lost, live what they have built up
    since. So the dual does not fall; with time the live part is the better one, and θ becomes 0.

    Parameters
    ----------
    blocks : frozenset of int
    a, b : array and float
        Σ α·p and Σ α·q of the frozen part.
    apart, linear : array and float
        The same, less those of the live part.
    share : float
        θ.
    """

    blocks: frozenset[int]
    a: np.ndarray
    b: float
    apart: np.ndarray
    linear: float
    share: float = 1.0

    @classmethod
    def of(
        cls, w: np.ndarray, linear: float, holdings: Sequence[Holding], blocks: frozenset[int]
    ) -> Frozen:
        """After a loss, these blocks' part of w = Σ α·p and Σ α·q: what the others do not have.

        `holdings` are what all blocks have now.
        """
        a, b = np.array(w), linear
        for block, holding in enumerate(holdings):
            if block not in blocks:
                add_into(a, -1.0, holding.a)
                b -= holding.b
        frozen = cls(blocks, a, b, a, b)
        frozen.compare(holdings)
        return frozen

    def compare(self, holdings: Sequence[Holding]) -> None:
        """Take the live part anew from what all blocks have now."""
        self.apart, self.linear = np.array(self.a), self.b
        for block in sorted(self.blocks):
            add_into(self.apart, -1.0, holdings[block].a)
            self.linear -= holdings[block].b

    def rescale(self, factor: float) -> None:
        """Both parts times `factor`, as their α are."""
        self.a, self.b = factor * self.a, factor * self.b
        self.apart, self.linear = factor * self.apart, factor * self.linear

    def factor(self, block: int) -> float:
        """How much a change of this block's live part counts in w."""
        return 1.0 - self.share if block in self.blocks else 1.0

    def follow(self, block: int, u: Vector, linear: float) -> None:
        """The block's live part has changed by these."""
        if block in self.blocks:
            add_into(self.apart, -1.0, u)
            self.linear -= linear

    def best_share(self, w: np.ndarray) -> float:
        """The θ with the highest dual; w is that of the present one."""
        square = dot(self.apart, self.apart)
        if square == 0:
            return 0.0
        return min(1.0, max(0.0, self.share + (self.linear - dot(self.apart, w)) / square))

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        return {
            "frozen_blocks": np.array(sorted(self.blocks)),
            "frozen_a": self.a,
            "frozen_apart": self.apart,
            "frozen_reals": np.array([self.b, self.linear, self.share]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Frozen | None:
        """What `arrays` gave, if it is among these."""
        if "frozen_a" not in arrays:
            return None
        b, linear, share = checks.vector("frozen_reals", arrays["frozen_reals"], "f8", 3).tolist()
        blocks = frozenset(arrays["frozen_blocks"].tolist())
        return cls(blocks, arrays["frozen_a"], b, np.array(arrays["frozen_apart"]), linear, share)
