"""The contract of every solver: rounds that turn a risk into w, and a state that can be kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.options import check_fields
from distsvm.risks.base import Risk


class SolverOptions:
    """The base of the dataclasses in which solvers declare their options."""

    def __post_init__(self) -> None:
        check_fields(self)

    def check_with(self, config: Any) -> None:
        """Refuse what does not go with the TrainConfig that these options are part of."""

    def check_here(self) -> None:
        """Refuse what this machine lacks the packages for."""


PHASES = ("oracle", "cache", "qp", "cuts")
# So many fresh rounds in a row that move neither bound mean that rounding allows no more.
STALLED_ROUNDS = 5


@dataclass(frozen=True)
class Round:
    """One round of a run, as data. Counts and values are those after the round.

    Parameters
    ----------
    number : int
        1 for the first.
    kind : str
        "fresh" (the oracle on all examples: certifies), "refreshed" (on some), or "cached".
    primal : float or None
        P(w) at the round's own w, only after a fresh round.
    best_primal, dual, gap : float
        The certificate so far; best_primal is infinite until the first fresh round.
    risk : float or None
        R(w) at the round's own w, only after a fresh round.
    violation : float
        (b − ⟨a, w⟩) − ξ of the round's cut at the model's w, summed over blocks; multi-plane: the
        examples' shares of the gap, as last known, over C.
    slack : float
        ξ of the model, summed over blocks, before the round's cut.
    w_norm : float
        ‖w‖ of the model after the round.
    n_cuts, n_support_cuts : int
    n_oracle_calls, n_cache_hits, n_planes : int
        Since the run began; planes held in caches now. Multi-plane counts as hits the visits that
        worked with held planes.
    n_support_planes, n_refused_planes, plane_bytes : int
        Multi-plane: of the held planes those with α > 0, planes that were refused since the run
        began because the memory for planes was full, and the memory that the held ones take.
    qp_iterations, qp_gap :
        Of this round's QP.
    seconds : dict of phase to float
        Since the run began, by phase: oracle, cache, qp, cuts (products and sums of vectors).
    elapsed_s : float
        Since the run began, earlier sessions of a resumed run included.
    validation_loss, validation_accuracy : float or None
        Of the best w so far, after a fresh round, where there is validation data.
    busy_s, n_restarts :
        Seconds each worker has worked in this session, and how often one was built again.
    note : str or None
        What was out of the ordinary: planes lost when the run was resumed, workers lost or joined.
    """

    number: int
    kind: str
    primal: float | None
    best_primal: float
    dual: float
    gap: float
    risk: float | None
    violation: float
    slack: float
    w_norm: float
    n_cuts: int
    n_support_cuts: int
    n_oracle_calls: int
    n_cache_hits: int
    n_planes: int
    qp_iterations: int
    qp_gap: float
    seconds: dict[str, float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    validation_loss: float | None = None
    validation_accuracy: float | None = None
    busy_s: tuple[float, ...] = ()
    n_restarts: int = 0
    note: str | None = None
    n_support_planes: int = 0
    n_refused_planes: int = 0
    plane_bytes: int = 0

    @property
    def has_cuts(self) -> bool:
        """Whether the solver works with cuts, and not with the planes that the workers hold."""
        return self.n_cuts > 0 or self.n_planes == 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Round:
        """Return the round that as_dict gave; null in the place of a number is one JSON lacks."""
        kinds = {own.name: str(own.type) for own in fields(cls)}
        absent = [name for name, kind in kinds.items() if kind == "float" and name in data]
        filled = {name: _UNKNOWN.get(name, math.nan) for name in absent if data[name] is None}
        record = cls(**data | {"busy_s": tuple(data["busy_s"])} | filled)
        for name, kind in kinds.items():
            value = getattr(record, name)
            if kind in _FITS and not _FITS[kind](value):
                raise ValueError(f"{name} is {value!r:.40}, expected {kind}")
        return record


_UNKNOWN = {"best_primal": math.inf, "gap": math.inf, "violation": math.inf, "dual": -math.inf}
"""What a bound or a violation is before anything is known of it."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_FITS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int),
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "str": lambda value: isinstance(value, str),
    "str | None": lambda value: value is None or isinstance(value, str),
    "dict[str, float]": lambda value: (
        isinstance(value, dict) and all(map(_is_number, value.values()))
    ),
    "tuple[float, ...]": lambda value: all(map(_is_number, value)),
}
"""Whether a value is of the type that a field of Round has; files may hold anything."""


class PhaseClock:
    """Seconds by phase. Nothing that steers w ever reads it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - started


class State(Protocol):
    """What a solver knows between two rounds; with it a run goes on as if never stopped."""

    bounds: Bounds
    w: np.ndarray
    number: int
    clock: PhaseClock
    late: bool
    """Whether the time was over before the last round was: no state to go on from elsewhere."""
    plane_bytes: int
    """Memory of the planes that workers hold for this solver."""

    @property
    def stalled(self) -> bool:
        """Whether rounding keeps the bounds from moving any further."""

    @property
    def n_bytes(self) -> int:
        """Memory that the solver's cuts take."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The state as plain arrays, for a checkpoint."""


class Solver(Protocol):
    """Turns a risk into w, round by round."""

    name: str

    def begin(self, risk: Risk, start: np.ndarray | None) -> State:
        """The state before the first round; `start` is a w to ask about first."""

    def restore(self, risk: Risk, arrays: dict[str, np.ndarray]) -> State:
        """The state that State.arrays gave these arrays of."""

    def follow(self, risk: Risk, earlier: State, factor: float) -> State:
        """The state before the first round at this C, from the last one at C / factor.

        Every α is `factor` times what it was, so that it is feasible, and nothing is asked: planes
        and cuts do not depend on C. The earlier state is used up.
        """

    def rounds(self, risk: Risk, state: State) -> Iterator[Round]:
        """Rounds without end; the caller stops when it has seen enough."""

    def is_forced(self, risk: Risk, state: State) -> bool:
        """Whether the limit of rounds makes the next round another one than it would be without.

        Such a round certifies the result. Its state is not one to go on from.
        """

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """The theory's bound on the number of rounds until the gap is C·eps, if there is one."""
