"""One round of a run, as data: columns of all solvers, and columns of the run's solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from distsvm.registry import solvers

EXACT = 2.0**53
"""Below it, a float that holds a whole number is exact."""


@dataclass(frozen=True)
class Column:
    """A column of the history, and how to show it.

    Parameters
    ----------
    name : str
        Its key in Round.own, or the name of a common column.
    label : str
        Its title in tables, charts and the live display; empty for columns that they do not show.
    help : str
        Its meaning and its unit.
    support : str
        For a number of cuts or planes: the column with the number of those with α > 0.
    only_if_any : bool
        Whether to show it only if it is not 0.
    """

    name: str
    label: str
    help: str
    support: str = ""
    only_if_any: bool = False

    def text(self, record: Round) -> str:
        """Return its value after a round as text."""
        return _shown(record.value(self.name))

    def support_text(self, record: Round) -> str:
        """Return the number of those with α > 0 as text."""
        return _shown(record.value(self.support))


def _shown(value: float | None) -> str:
    """Return whole numbers with separators of thousands, others with three digits."""
    value = value or 0
    return f"{value:,.0f}" if abs(value) < EXACT and value == int(value) else f"{value:.3g}"


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
        R(w) at the round's own w, only after a fresh round, where the solver knows it.
    w_norm : float
        ‖w‖ of the model after the round.
    n_oracle_calls, n_cache_hits, n_planes : int
        Oracle calls and cache hits since the run began, and planes that the workers hold now. A
        cache hit is an example that took a held plane in the place of an oracle call.
    plane_bytes : int
        Memory of the held planes, beside the memory that workers take from the start.
    seconds : dict of phase to float
        Since the run began, by phase: oracle, cache, qp, cuts (products and sums of vectors).
    solver : str
        The name of the solver, which is the key of `own` in the history.
    own : dict
        The solver's own columns by name; see Solver.columns.
    elapsed_s : float
        Seconds since the run began, earlier sessions of a resumed run included.
    validation_loss, validation_accuracy : float or None
        Scores of the best w so far, after a fresh round, if there is validation data.
    busy_s, n_restarts :
        Seconds of work of each worker in this session, and the number of rebuilt workers.
    note : str or None
        Unusual events: planes lost when the run was resumed, workers lost or joined.
    """

    number: int
    kind: str
    primal: float | None
    best_primal: float
    dual: float
    gap: float
    risk: float | None
    w_norm: float
    n_oracle_calls: int
    n_cache_hits: int
    n_planes: int
    solver: str
    own: dict[str, float] = field(default_factory=dict)
    plane_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    validation_loss: float | None = None
    validation_accuracy: float | None = None
    busy_s: tuple[float, ...] = ()
    n_restarts: int = 0
    note: str | None = None

    def value(self, name: str) -> float | None:
        """Return the value of a common column or of the solver's own; None if there is none."""
        return self.own[name] if name in self.own else getattr(self, name, None)

    def as_dict(self) -> dict[str, Any]:
        """Return the round as JSON-able data; the solver's own columns are under its name."""
        data = asdict(self)
        return data | {data["solver"]: data.pop("own")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Round:
        """Return the round from the result of `as_dict`; null stands for inf, −inf and nan."""
        data = data if "solver" in data else _of_earlier_versions(data)
        name = data["solver"]
        own = data.get(name)
        if not isinstance(name, str) or name in _NAMES or not isinstance(own, dict):
            raise ValueError(f"solver is {name!r:.40}, with columns {own!r:.40}")
        data = {key: value for key, value in data.items() if key != name}
        data["own"] = {key: math.inf if value is None else value for key, value in own.items()}
        kinds = {own.name: str(own.type) for own in fields(cls)}
        absent = [key for key, kind in kinds.items() if kind == "float" and key in data]
        filled = {key: _UNKNOWN.get(key, math.nan) for key in absent if data[key] is None}
        record = cls(**data | {"busy_s": tuple(data["busy_s"])} | filled)
        for key, kind in kinds.items():
            value = getattr(record, key)
            if not _FITS[kind](value):
                raise ValueError(f"{key} is {value!r:.40}, expected {kind}")
        return record


def shown_columns(record: Round) -> list[Column]:
    """Return the columns of the record's solver that have a label; none of an unknown solver."""
    solver = solvers().get(record.solver)
    return [
        column
        for column in (() if solver is None else solver.columns)
        if column.label and (record.value(column.name) or not column.only_if_any)
    ]


_UNKNOWN = {"best_primal": math.inf, "gap": math.inf, "dual": -math.inf}
"""The initial values of the bounds."""

_EARLIER = {
    "one-slack": (
        "violation", "slack", "n_cuts", "n_support_cuts", "qp_iterations", "qp_gap",
    ),
    "multi-plane": ("violation", "n_support_planes", "n_refused_planes"),
}  # fmt: skip
"""The columns of two solvers that earlier versions wrote among the common ones."""


def _of_earlier_versions(data: dict[str, Any]) -> dict[str, Any]:
    """Return a line in today's form from one with both solvers' columns among the common ones."""
    name = "one-slack" if data["n_cuts"] > 0 or data["n_planes"] == 0 else "multi-plane"
    own = {key: data[key] for key in _EARLIER[name] if key in data}
    known = {key for columns in _EARLIER.values() for key in columns}
    common = {key: value for key, value in data.items() if key not in known}
    return common | {"solver": name, name: own}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


_FITS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int),
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "str": lambda value: isinstance(value, str),
    "str | None": lambda value: value is None or isinstance(value, str),
    "dict[str, float]": _is_table,
    "tuple[float, ...]": lambda value: all(map(_is_number, value)),
}
"""Checks that a value from a file has the type of its field of Round."""

_NAMES = frozenset(own.name for own in fields(Round))
