"""What the dual ascent knows between two rounds."""

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
    """w = Σ α·p and linear = Σ α·q of the workers' α, and the bounds they have led to.

    Parameters
    ----------
    square : float
        ‖w‖².
    taken : float
        The part of the workers' last changes that w has taken over.
    aside, regained : frozenset of int, float
        Blocks of which another part was taken, as they were finding again what was lost; and which.
    average : array or None
        w averaged over the last rounds, as a place to ask about all examples.
    ask_average : bool
        Whether the next question about all is put there.
    gained, worked : float
        Dual and work since the last round with oracle calls began.
    rate : float
        The dual gained for a unit of work in the last round.
    n_asked : int
        Rounds with oracle calls so far.
    since : float
        The part of the examples that rounds have asked about since the last that asked about all.
    gap, held_gap : float
        The examples' shares of the gap, when the oracle was last asked, and by the held planes.
    unseen : float
        How many times as large as those shares the certified gap was, when it was last certified.
    fall : float
        By how much the logarithm of the certified gap fell with each pass before the last one.
    frozen : Frozen or None
        What lost workers had, as long as it is of use.
    pass_work : float
        Of the last round that asked about all.
    n_earlier : int
        Rounds at other values of C that the workers have taken part in.
    loses, copies, uncopied : bool, bool, float
        Whether workers have been lost in this session, whether the driver can hold copies of their
        planes, and the work since the last copy.
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
        """The number of the round among all that the workers have taken part in."""
        return self.n_earlier + self.number

    def regain(self) -> Regain | None:
        """What is different for blocks of lost workers in the next round."""
        if self.frozen is None:
            return Regain(self.aside, self.regained, None) if self.aside else None
        return Regain(self.frozen.blocks, self.regained, self.w - self.frozen.apart.w)

    @property
    def dual(self) -> float:
        return self.linear - 0.5 * self.square

    def more_arrays(self) -> dict[str, np.ndarray]:
        frozen = {} if self.frozen is None else self.frozen.arrays()
        return {"aside": np.array(sorted(self.aside), dtype=np.int64)} | frozen
