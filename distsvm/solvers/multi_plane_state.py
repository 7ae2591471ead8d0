"""What the dual ascent knows between two rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds
from distsvm.messages import Regain
from distsvm.solvers.base import STALLED_ROUNDS, PhaseClock
from distsvm.solvers.frozen import Frozen


@dataclass
class MultiPlaneState:
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
    frozen : Frozen or None
        What lost workers had, as long as it is of use.
    pass_work : float
        Of the last round that asked about all.
    n_earlier : int
        Rounds at other values of C that the workers have taken part in.
    loses, copies, uncopied : bool, bool, float
        Whether workers have been lost in this session, whether the driver can hold copies of their
        planes, and the work since the last copy.
    n_stalled : int
        Certifying rounds in a row that moved no bound; below 0 after a loss.
    late : bool
        Whether the time was over before the last round was.
    """

    bounds: Bounds
    w: np.ndarray
    sigma: float
    start: np.ndarray | None = None
    linear: float = 0.0
    square: float = 0.0
    taken: float = 1.0
    aside: frozenset[int] = frozenset()
    regained: float = 1.0
    average: np.ndarray | None = None
    ask_average: bool = True
    gained: float = 0.0
    worked: float = 0.0
    rate: float = 0.0
    n_asked: int = 0
    since: float = 0.0
    gap: float = math.inf
    held_gap: float = math.inf
    unseen: float = 1.0
    frozen: Frozen | None = None
    pass_work: float = 0.0
    n_earlier: int = 0
    loses: bool = False
    copies: bool = True
    uncopied: float = 0.0
    number: int = 0
    n_stalled: int = 0
    late: bool = False
    n_calls: int = 0
    n_visits: int = 0
    n_planes: int = 0
    n_support: int = 0
    n_refused: int = 0
    plane_bytes: int = 0
    clock: PhaseClock = field(default_factory=PhaseClock)

    @property
    def stalled(self) -> bool:
        return self.n_stalled >= STALLED_ROUNDS

    @property
    def n_bytes(self) -> int:
        return self.w.nbytes if self.average is None else self.w.nbytes + self.average.nbytes

    @property
    def serial(self) -> int:
        """The number of the round among all that the workers have taken part in."""
        return self.n_earlier + self.number

    def regain(self) -> Regain | None:
        """What is different for blocks of lost workers in the next round."""
        if self.frozen is None:
            return Regain(self.aside, self.regained, None) if self.aside else None
        return Regain(self.frozen.blocks, self.regained, self.w - self.frozen.apart)

    @property
    def dual(self) -> float:
        return self.linear - 0.5 * self.square

    def arrays(self) -> dict[str, np.ndarray]:
        none = np.zeros(0)
        return self.bounds.arrays() | {
            "w": self.w,
            "average": none if self.average is None else self.average,
            "start": none if self.start is None else self.start,
            "aside": np.array(sorted(self.aside), dtype=np.int64),
            "numbers": np.array([getattr(self, name) for name in _NUMBERS]),
            "reals": np.array([getattr(self, name) for name in _REALS]),
            **({} if self.frozen is None else self.frozen.arrays()),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> MultiPlaneState:
        """The state that `arrays` gave."""
        whole, real = checks.vector("numbers", arrays["numbers"], "i"), arrays["reals"]
        numbers = zip(_NUMBERS, whole.tolist(), strict=True)
        reals = zip(_REALS, checks.vector("reals", real, "f8").tolist(), strict=True)
        average, start = (arrays[name] for name in ("average", "start"))
        state = cls(
            Bounds.from_arrays(arrays), np.array(arrays["w"]), **dict(reals), **dict(numbers),
            average=np.array(average) if average.size else None,
            start=start if start.size else None, frozen=Frozen.from_arrays(arrays),
            aside=frozenset(checks.vector("aside", arrays["aside"], "i").tolist()),
        )  # fmt: skip
        state.ask_average = bool(state.ask_average)
        return state


_NUMBERS = (
    "number", "n_stalled", "n_asked", "n_calls", "n_visits", "n_planes", "n_support",
    "n_refused", "plane_bytes", "ask_average", "n_earlier",
)  # fmt: skip
_REALS = (
    "sigma", "linear", "square", "taken", "regained", "gained", "worked", "rate", "gap", "held_gap",
    "unseen", "pass_work", "since",
)  # fmt: skip
