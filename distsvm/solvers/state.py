"""The state of a solver between two rounds, with declared fields that checkpoints save."""

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
# After this many fresh rounds in a row that move neither bound, rounding prevents progress.
STALLED_ROUNDS = 5

_KINDS = {"numbers": "i8", "reals": "f8"}


class PhaseClock:
    """Seconds by phase. No decision about w depends on them."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time within this context to the phase."""
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

    A subclass declares saved fields with `kept_int`, `kept_float` and `kept_vector`; checkpoints
    write them and read them back. It adds saved values of other forms in `more_arrays`, and its
    Solver.restore reads them. Checkpoints do not save other fields.

    Parameters
    ----------
    bounds : Bounds
    w : array
        The array of the model's point; see risks.points.
    start : array or None
        The point of the first round's oracle calls, if it is not the model's w.
    number, n_stalled : int
        Rounds so far, and certifying ones in a row that moved no bound.
    late : bool
        Whether the time limit cut the last round short; no run may continue from such a state.
    """

    VECTORS: ClassVar[frozenset[str]] = frozenset({"w"})
    """Names of arrays as long as w, beside the `kept_vector` fields, which may be empty."""

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
    def ended(self) -> bool:
        """Whether the solver's own rule ends the run, if no gap does."""
        return False

    @property
    def n_bytes(self) -> int:
        """Memory of the solver on the driver for cuts and vectors."""
        return self.w.nbytes

    @property
    def held_bytes(self) -> int:
        """Memory of the workers' planes, beside the memory that they take from the start."""
        return 0

    def more_arrays(self) -> dict[str, np.ndarray]:
        """Return the saved arrays of the state that are not declared fields."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as plain arrays for a checkpoint."""
        found = self.bounds.arrays() | {"w": self.w} | self.more_arrays()
        for name, kind in _KINDS.items():
            values = [getattr(self, own.name) for own in _declared(self, name)]
            found[name] = np.array(values, dtype=kind)
        for own in _declared(self, "vector"):
            value = getattr(self, own.name)
            found[own.name] = np.zeros(0) if value is None else value
        return found

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore bounds, w and the declared fields from the result of `arrays`.

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
        """Raise ValueError for vectors of another length than w, or with values not finite."""
        optional = {own.name for own in _declared(cls, "vector")} | {"best_w"}
        for name in (cls.VECTORS | optional) & arrays.keys():
            is_empty = name in optional and arrays[name].shape == (0,)
            checks.finite(name, arrays[name], 0 if is_empty else size)


def _declared(state: State | type[State], how: str) -> list[Field]:
    return [own for own in fields(state) if own.metadata.get("saved") == how]
