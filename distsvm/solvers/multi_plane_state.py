"""The state of the dual ascent between two rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distsvm.messages import Regain
from distsvm.solvers.frozen import Frozen
from distsvm.solvers.state import State, kept_float, kept_int, kept_vector


@dataclass
class MultiPlaneState(State):
    """w = Σ α·p and linear = Σ α·q of the workers' α, the bounds, and statistics of rounds.

    Of frozen blocks, linear has Holding.net.

    Parameters
    ----------
    square, cost : float
        ‖w‖², and Holding.cost of all blocks but frozen ones.
    taken : float
        The part of the workers' last changes that was added to w.
    aside, regained : frozenset of int, float
        Blocks that were regaining lost planes, and the part of their last changes that was added.
    average : array or None
        w averaged over the last rounds, a point for oracle calls on all examples.
    ask_average : bool
        Whether the next round with all examples is at this average.
    gained, worked : float
        Gain of the dual and work since the last round with oracle calls began.
    rate : float
        Gain of the dual for a unit of work in the last round.
    n_asked : int
        Rounds with oracle calls so far.
    since : float
        Oracle calls since the last round on all examples, as a part of the examples.
    gap, held_gap : float
        Sums of the examples' shares of the gap, at the last oracle calls, and by the held planes.
    unseen : float
        Certified gap divided by the sum of those shares, at the last certificate.
    fall : float
        Fall of the logarithm of the certified gap in each pass before the last certificate.
    frozen : Frozen or None
        The point of lost workers, as long as it counts in w.
    pass_work : float
        Work of the last round with all examples.
    n_earlier : int
        Rounds of the workers at other values of C.
    loses, copies, uncopied : bool, bool, float
        Whether workers have been lost in this session, whether the driver has room for copies of
        their planes, and the work since the last copy.
    """

    VECTORS: ClassVar[frozenset[str]] = frozenset({"w", "frozen_a", "frozen_apart"})

    average: np.ndarray | None = kept_vector()
    n_asked: int = kept_int()
    n_calls: int = kept_int()
    n_visits: int = kept_int()
    n_planes: int = kept_int()
    n_support: int = kept_int()
    n_refused: int = kept_int()
    plane_bytes: int = kept_int()
    ask_average: bool = kept_int(True)
    n_earlier: int = kept_int()
    sigma: float = kept_float(1.0)
    linear: float = kept_float()
    square: float = kept_float()
    taken: float = kept_float(1.0)
    regained: float = kept_float(1.0)
    gained: float = kept_float()
    worked: float = kept_float()
    rate: float = kept_float()
    gap: float = kept_float(math.inf)
    held_gap: float = kept_float(math.inf)
    unseen: float = kept_float(1.0)
    pass_work: float = kept_float()
    since: float = kept_float()
    fall: float = kept_float()
    cost: float = kept_float()
    aside: frozenset[int] = frozenset()
    frozen: Frozen | None = None
    loses: bool = False
    copies: bool = True
    uncopied: float = 0.0

    @property
    def n_bytes(self) -> int:
        return self.w.nbytes if self.average is None else self.w.nbytes + self.average.nbytes

    @property
    def held_bytes(self) -> int:
        return self.plane_bytes

    @property
    def serial(self) -> int:
        """The number of the round among all rounds of the workers."""
        return self.n_earlier + self.number

    def taken_parts(self, n_blocks: int) -> list[float]:
        """Return the part of its last changes that was added, of each block."""
        return [self.regained if k in self.aside else self.taken for k in range(n_blocks)]

    def regain(self) -> Regain | None:
        """Return the next round's exceptions for blocks of lost workers; None without such."""
        if self.frozen is None:
            return Regain(self.aside, self.regained, None) if self.aside else None
        return Regain(self.frozen.blocks, self.regained, self.w - self.frozen.apart.w)

    @property
    def dual(self) -> float:
        return self.linear - 0.5 * (self.square + self.cost)

    def more_arrays(self) -> dict[str, np.ndarray]:
        frozen = {} if self.frozen is None else self.frozen.arrays()
        return {"aside": np.array(sorted(self.aside), dtype=np.int64)} | frozen
