"""What a solver knows between two rounds, declared field by field, so that it is saved alike."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds

PHASES = ("oracle", "cache", "qp", "cuts")
# So many fresh rounds in a row that move neither bound mean that rounding allows no more.
STALLED_ROUNDS = 5

_KINDS = {"numbers": "i8", "reals": "f8"}


class PhaseClock:
    """Seconds by phase. Nothing that steers w ever reads it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time within as this phase's."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - started


def kept_int(default: int = 0) -> Any:
    """Declare a whole number (or a bool) of the state."""
    return field(default=default, metadata={"saved": "numbers"})


def kept_float(default: float = 0.0) -> Any:
    """Declare a number of the state."""
    return field(default=default, metadata={"saved": "reals"})


def kept_vector() -> Any:
    """Declare an array of the state as long as w, or None."""
    return field(default=None, metadata={"saved": "vector"})


@dataclass
class State:
    """The state of any solver: its bounds, the w of its model, and its own declared fields.

    A subclass declares what must survive with `kept_int`, `kept_float` and `kept_vector`;
    checkpoints write these and read them back. What it keeps in other forms it adds in
    `more_arrays`, and reads in Solver.restore. Fields without a declaration are lost with the
    session.

    Parameters
    ----------
    bounds : Bounds
    w : array
        What stands for the model's point; see risks.points.
    start : array or None
        Where the first round asks, if not at the model's w.
    number, n_stalled : int
        Rounds so far, and certifying ones in a row that moved no bound.
    late : bool
        Whether the time was over before the last round was: no state to go on from elsewhere.
    """

    VECTORS: ClassVar[frozenset[str]] = frozenset({"w"})
    """Arrays that are as long as w; more are those of `kept_vector` fields, which may be empty."""

    bounds: Bounds
    w: np.ndarray
    start: np.ndarray | None = kept_vector()
    number: int = kept_int()
    n_stalled: int = kept_int()
    late: bool = False
    clock: PhaseClock = field(default_factory=PhaseClock)

    @property
    def stalled(self) -> bool:
        """Whether rounding keeps the bounds from moving any further."""
        return self.n_stalled >= STALLED_ROUNDS

    @property
    def n_bytes(self) -> int:
        """Memory that the solver takes on the driver for cuts and vectors."""
        return self.w.nbytes

    @property
    def held_bytes(self) -> int:
        """Memory of planes that workers hold, beside the room that was there from the start."""
        return 0

    def more_arrays(self) -> dict[str, np.ndarray]:
        """Arrays of the state that are no declared fields."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """The state as plain arrays, for a checkpoint."""
        found = self.bounds.arrays() | {"w": self.w} | self.more_arrays()
        for name, kind in _KINDS.items():
            values = [getattr(self, own.name) for own in _declared(self, name)]
            found[name] = np.array(values, dtype=kind)
        for own in _declared(self, "vector"):
            value = getattr(self, own.name)
            found[own.name] = np.zeros(0) if value is None else value
        return found

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up the declared fields that `arrays` gave, with bounds and w.

        Numbers that an earlier version did not write yet keep their defaults.
        """
        self.bounds, self.w = Bounds.from_arrays(dict(arrays)), np.array(arrays["w"])
        for name, kind in _KINDS.items():
            values = checks.vector(name, arrays[name], kind[0]).tolist()
            declared = _declared(self, name)
            if len(values) > len(declared):
                raise ValueError(f"{name} has {len(values)} values, expected {len(declared)}")
            for own, value in zip(declared, values, strict=False):
                setattr(self, own.name, bool(value) if own.type == "bool" else value)
        for own in _declared(self, "vector"):
            array = arrays[own.name]
            setattr(self, own.name, np.array(array) if array.size else None)

    @classmethod
    def check_vectors(cls, arrays: Mapping[str, np.ndarray], size: int) -> None:
        """Refuse, with a ValueError, vectors of another length than w's, or not finite."""
        optional = {own.name for own in _declared(cls, "vector")} | {"best_w"}
        for name in (cls.VECTORS | optional) & arrays.keys():
            is_empty = name in optional and arrays[name].shape == (0,)
            checks.finite(name, arrays[name], 0 if is_empty else size)


def _declared(state: State | type[State], how: str) -> list[Field]:
    return [own for own in fields(state) if own.metadata.get("saved") == how]
