"""All that crosses a process border: frozen, arrays and numbers, and sums of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import add as plus
from operator import and_, or_
from typing import Any, ClassVar, TypeVar

import numpy as np

from distsvm.vectors import Vector, add, compact, index_type, scale

S = TypeVar("S", bound="Summed")


class Summed:
    """A dataclass whose objects add up field by field: by +, unless RULES has another rule."""

    RULES: ClassVar[Mapping[str, Callable[[Any, Any], Any]]] = {}

    def __add__(self: S, other: S) -> S:
        sums = {}
        for own in fields(self):  # type: ignore[arg-type]
            rule = self.RULES.get(own.name, plus)
            sums[own.name] = rule(getattr(self, own.name), getattr(other, own.name))
        return type(self)(**sums)


def _first(a: Any, b: Any) -> Any:
    return a


def _both(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the rule where both values are known, and None where one is not."""
    return lambda a, b: None if a is None or b is None else rule(a, b)


def _larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the elementwise maximum; a shorter array counts as followed by zeros."""
    largest = np.zeros(max(a.size, b.size))
    for one in (a, b):
        np.maximum(largest[: one.size], one, out=largest[: one.size])
    return largest


@dataclass(frozen=True, eq=False)
class Summary(Summed):
    """What one scan of a shard, or of all shards, finds.

    Parameters
    ----------
    n_examples : int
    weight : float
        Σ c_i of the examples' own weights (class weights come later).
    labels, counts : arrays of shape (k,), or None
        The distinct labels in increasing order, and the weight Σ c_i of the examples of each; None
        for outputs that are not labels.
    least_column, n_columns : int
        The smallest column stored, and 1 + the largest, as the file counts them; 0, 0 without
        features.
    largest : float64 array of shape (n_columns,), or None
        max_i |x_ij| of each column.
    n_weighted : int
        Examples of weight > 0; 0 where the task does not count them.
    columns : tuple of str, optional
        The names of the columns, where they have some.
    seen : optional
        Moments and a sample of the rows of features (distsvm.kernel_functions.sampling.Seen), for
        tasks with a kernel function or a feature map.
    """

    RULES: ClassVar = {
        "labels": _first, "counts": _first, "least_column": min, "n_columns": max,
        "largest": _both(_larger), "columns": lambda a, b: a or b, "seen": _both(plus),
    }  # fmt: skip

    n_examples: int
    weight: float
    labels: np.ndarray | None = None
    counts: np.ndarray | None = None
    least_column: int = 0
    n_columns: int = 0
    largest: np.ndarray | None = None
    n_weighted: int = 0
    columns: tuple[str, ...] | None = None
    seen: Any = None

    def __add__(self, other: Summary) -> Summary:
        labels, counts = None, None
        if self.labels is not None and other.labels is not None:
            both = np.concatenate([self.labels, other.labels])
            weights = np.concatenate([self.counts, other.counts])
            labels, place = np.unique(both, return_inverse=True)
            counts = np.bincount(place.ravel(), weights, labels.size)
        return replace(super().__add__(other), labels=labels, counts=counts)


def feature_name(columns: Sequence[str] | None, column: int) -> str:
    """Return what messages call a column of features: its name, or its number in the data."""
    return f"feature {column if columns is None else repr(columns[column])}"


@dataclass(frozen=True, eq=False)
class Planes:
    """One plane (p, q) for each of some examples of a shard, by its output, not by its features.

    Parameters
    ----------
    row : int64 array of shape (m,)
        The example's place in its shard.
    output : array-like of length m, indexed by integer arrays
        ŷ in the form of the shard's oracle.
    q : float64 array of shape (m,)
        What enters the dual.
    loss : float64 array of shape (m,)
        Δ(y, ŷ); the same array as q for the linear penalty.
    """

    row: np.ndarray
    output: Any
    q: np.ndarray
    loss: np.ndarray

    @classmethod
    def linear(cls, row: np.ndarray, output: Any, loss: np.ndarray) -> Planes:
        """Return planes of the linear penalty, whose q is Δ."""
        return cls(row, output, loss, loss)

    def __len__(self) -> int:
        return self.row.size

    def take(self, which: np.ndarray) -> Planes:
        q = self.q[which]
        loss = q if self.loss is self.q else self.loss[which]
        return Planes(self.row[which], self.output[which], q, loss)


@dataclass(frozen=True, eq=False)
class Sums(Summed):
    """The result of a round on one shard, or on a group of them.

    With c_i the example's weight and (p_i, q_i) its plane of this round:

    Parameters
    ----------
    a : Vector
        Σ c_i·p_i.
    b : float
        Σ c_i·q_i.
    upper : float
        Σ c_i·(upper bound of H_i(w)); a bound of the risk only when every example is fresh.
    n_fresh : int
        Examples whose plane is the oracle's answer at this very w.
    n_calls : int
        Oracle calls that were made for this answer.
    n_hits : int
        Examples served from the cache.
    n_planes : int
        Planes in the cache afterwards.
    exact : bool
        Whether every fresh plane is the exact maximum (otherwise `upper` only bounds it).
    late : bool
        Whether the time limit came before all oracle calls were made.
    """

    RULES: ClassVar = {"a": add, "exact": and_, "late": or_}

    a: Vector
    b: float
    upper: float
    n_fresh: int
    n_calls: int
    n_hits: int
    n_planes: int
    exact: bool
    late: bool = False

    def __getstate__(self) -> dict[str, Any]:
        # In one process dense vectors add fastest; between processes the smaller form is better.
        a = compact(self.a) if isinstance(self.a, np.ndarray) else self.a
        return self.__dict__ | {"a": a}


@dataclass(frozen=True, eq=False)
class Regain:
    """What differs for blocks that find again what a lost worker had.

    Parameters
    ----------
    blocks : frozenset of int
    taken : float
        In place of Ascent.taken.
    w : array or None
        Where they climb, if not where the others do.
    """

    blocks: frozenset[int]
    taken: float
    w: np.ndarray | None


@dataclass(frozen=True)
class Ascent:
    """The task of a block in one round of the dual ascent.

    Parameters
    ----------
    number : int
        Of the round; the order of visits depends on it.
    taken : float
        The part of the last round's changes of α that was taken, in [0, 1].
    sigma : float
        σ′: the factor by which the block counts its own change of w, since others change w too.
    ask : str
        The examples of oracle calls before the passes: "all" (at w itself, which certifies),
        "some", or "none".
    share : float
        For "some": this part of the examples, those with the largest shares of the gap.
    n_passes : int
        The largest number of passes over the planes in memory.
    n_parts : int
        For "some": the number of parts of the data, of which each round passes over another.
    least_rate : float
        No further pass once one has gained less than this for a unit of work.
    tol : float
        Values of planes that differ by no more than this count as equal.
    enough : float
        No further pass either once the examples' shares of the gap come to this for each unit of
        their weight, where a visit finds what the oracle would.
    regain : Regain, optional
        After a loss.
    """

    number: int
    taken: float
    sigma: float
    ask: str
    share: float
    n_passes: int
    n_parts: int
    least_rate: float
    tol: float
    enough: float = 0.0
    regain: Regain | None = None


@dataclass(frozen=True, eq=False)
class Holding(Summed):
    """Σ α·p and Σ α·q of a block's planes, computed anew: a cut of its examples.

    `number` is that of the last round that the block took part in; 0 if it began anew since.
    `cost` is Σ_i (Σ α)²·Σc/(c_i·C) for the quadratic penalty, else 0. Holdings of parts of one
    block add up.
    """

    RULES: ClassVar = {"a": add, "number": _first}

    a: Vector
    b: float
    number: int
    cost: float = 0.0

    @property
    def net(self) -> float:
        """What it adds to the dual, but for w: Σ α·q − cost/2."""
        return self.b - 0.5 * self.cost


@dataclass(frozen=True, eq=False)
class Ascended(Summed):
    """The result of a block's round of the dual ascent; those of parts of a block add up.

    Parameters
    ----------
    u, linear : Vector, float
        The changes of Σ α·p and Σ α·q.
    gain : float
        Of the dual, if no other block changes w.
    holding : Holding or None
        The block's own before the changes; only after oracle calls for all examples.
    upper, exact :
        Σ c_i·(upper bound of H_i(w)), or of H_i²/2 for the quadratic penalty, and whether it is the
        exact maximum; infinite unless the oracle was asked about all.
    gap, held_gap : float
        The sum of the examples' shares of the gap when the oracle was last asked about them, and
        as far as the planes in memory show it.
    n_calls, n_visits, n_planes, n_support, n_refused, n_bytes : int
        Oracle calls of this round, among them visits that search all outputs, and other visits;
        planes in memory, those with α > 0, planes ever refused for want of memory, and the memory
        that planes take: of parts, of which one is in memory at a time, the most that one takes.
    work : float
        Of this round.
    lost : bool
        Whether the block began anew: its worker was built again since the last round.
    late : bool
        Whether the time limit came before the round was over.
    cost_along, cost_apart : float
        A part s of the changes adds 2·s·cost_along + s²·cost_apart to Holding.cost.
    """

    RULES: ClassVar = {
        "u": add, "holding": _both(plus), "exact": and_, "n_bytes": max, "lost": or_, "late": or_
    }  # fmt: skip

    u: Vector
    linear: float
    gain: float
    holding: Holding | None
    upper: float
    exact: bool
    gap: float
    held_gap: float
    n_calls: int
    n_visits: int
    n_planes: int
    n_support: int
    n_refused: int
    n_bytes: int
    work: float
    lost: bool
    late: bool = False
    cost_along: float = 0.0
    cost_apart: float = 0.0

    def without_change(self) -> Ascended:
        """Return the same result where the changes are lost."""
        none = scale(self.u, 0.0)
        return replace(self, u=none, linear=0.0, cost_along=0.0, cost_apart=0.0)

    def net(self, share: float) -> float:
        """Return what this part of the changes adds to Holding.net, divided by the part."""
        return self.linear - self.cost_along - 0.5 * share * self.cost_apart


@dataclass(frozen=True, eq=False)
class Facts(Summed):
    """The facts of a shard, or of all shards, after the task was bound.

    Parameters
    ----------
    n_examples, n_dropped : int
        Examples that are trained on, and unfit ones that are left out (see Task.unfit).
    n_weighted : int
        Examples of weight c_i > 0 among those that are trained on.
    weight : float
        Σ c_i, class weights included.
    square_norm : float
        Σ c_i·‖Ψ(x_i, y_i)‖².
    square_radius : float or None
        max ‖ψ_i(ŷ)‖² over examples and outputs, None where it is not known.
    data_bytes, plane_bytes : int
        Memory of the packed examples, and of the room for their cached planes.
    fingerprint : str
        Digests of the shards' examples, in shard order; empty if they are not needed.
    """

    RULES: ClassVar = {"square_radius": _both(max)}

    n_examples: int
    n_dropped: int
    n_weighted: int
    weight: float
    square_norm: float
    square_radius: float | None
    data_bytes: int
    plane_bytes: int
    fingerprint: str


@dataclass(frozen=True, eq=False)
class Score(Summed):
    """The score of some predictions."""

    n_examples: int
    weight: float
    loss: float
    n_correct: int

    @property
    def mean_loss(self) -> float:
        return self.loss / self.weight if self.weight else float("nan")

    @property
    def accuracy(self) -> float:
        return self.n_correct / self.n_examples if self.n_examples else float("nan")


@dataclass(frozen=True, eq=False)
class Violated:
    """The planes of some examples that are violated by more than ε at one w, written down.

    Parameters
    ----------
    row, number : int64 arrays of shape (m,)
        The example's place in its shard, and its number in the whole data.
    weight, q, loss : float64 arrays of shape (m,)
        c_i, q and Δ.
    key : int64 array of shape (m,)
        Of the output: planes of one example with one key are the same.
    index, value, length : arrays
        p of each plane, one after the other, and how many entries each has: indices increase.
    output : list of str
        ŷ as JSON.
    total : float
        Σ c_i·H_i of all examples that were asked about; Σ c_i·H_i²/2 for the quadratic penalty. Or
        an upper bound, where `exact` is False.
    worst : float
        max H_i, in parts of the smallest margin that the example may need.
    n_calls : int
        The number of oracle calls.
    exact, late : bool
        Whether every answer was the exact maximum; whether the time was over before all were asked.
    """

    row: np.ndarray
    number: np.ndarray
    weight: np.ndarray
    q: np.ndarray
    loss: np.ndarray
    key: np.ndarray
    index: np.ndarray
    value: np.ndarray
    length: np.ndarray
    output: list[str]
    total: float
    worst: float
    n_calls: int
    exact: bool
    late: bool

    RULES: ClassVar[Mapping[str, Any]] = {"worst": max, "exact": and_, "late": or_}

    @classmethod
    def none(cls, dim: int) -> Violated:
        """Return the sum for no example."""
        whole, real = np.zeros(0, np.int64), np.zeros(0)
        return cls(
            whole, whole, real, real, real, whole, whole.astype(index_type(dim)), real, whole, [],
            0.0, 0.0, 0, True, False,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.row.size

    def followed_by(self, other: Violated) -> Violated:
        """Return this answer and the one about the next examples as one."""
        both: dict[str, Any] = {}
        for own in fields(self):
            a, b = getattr(self, own.name), getattr(other, own.name)
            rule: Callable[[Any, Any], Any] = self.RULES.get(own.name, plus)
            both[own.name] = np.concatenate([a, b]) if isinstance(a, np.ndarray) else rule(a, b)
        return Violated(**both)

    def ended(self, late: bool) -> Violated:
        """Return the same with the facts of the end."""
        return replace(self, late=late)

    def take(self, which: np.ndarray) -> Violated:
        """Return these of the planes, with all that is not about planes as it was."""
        ends = np.cumsum(self.length)
        starts = ends - self.length
        spans = [np.arange(starts[j], ends[j]) for j in which.tolist()]
        entries = np.concatenate([np.zeros(0, np.int64), *spans])
        own = {
            name: getattr(self, name)[which]
            for name in ("row", "number", "weight", "q", "loss", "key", "length")
        }
        output = [self.output[j] for j in which.tolist()]
        return replace(
            self, **own, index=self.index[entries], value=self.value[entries], output=output
        )


# --- solvers that work with kernel values --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixture:
    """w = Σ α·a of some cuts in round `number`; `ids` are those of all cuts in use.

    Parameters
    ----------
    number : int
    ids : tuple of int
    alpha : float64 array of the same length
    """

    number: int
    ids: tuple[int, ...]
    alpha: np.ndarray


@dataclass(frozen=True)
class Missing:
    """The answer of a part that lacks these cuts, because its worker was built again."""

    ids: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Searched(Summed):
    """The planes that a search found at one w: sums over a shard, or over draws from it.

    Parameters
    ----------
    value, square : float
        Σ c_i·H_i(w) and Σ c_i·H_i(w)²; of draws without the weights.
    q : float
        Σ c_i·q_i, or Σ q_i of draws.
    candidates : float
        Σ c_i of the examples with q_i > 0.
    n_candidates, n_calls, n_values : int
        Their number; oracle calls; kernel values that were computed for this answer.
    late : bool
        Whether the time limit came before.
    """

    RULES: ClassVar = {"late": or_}

    value: float = 0.0
    square: float = 0.0
    q: float = 0.0
    candidates: float = 0.0
    n_candidates: int = 0
    n_calls: int = 0
    n_values: int = 0
    late: bool = False


@dataclass(frozen=True, eq=False)
class Share:
    """One shard's share of a cut: Σ weight·p of its planes, and each of them.

    Parameters
    ----------
    example : int64 array of shape (m,)
        The row in the shard.
    key : int64 array of shape (m,)
        Of the plane's output.
    weight, q, c : float64 arrays of shape (m,)
        The weight in the sum, q of the plane, and the weight c_i of the example.
    starts, atom, codes, explicit : arrays
        p of each plane, as in joint.Entries; atoms by their place in `number`.
    number : int64 array
        The atoms that occur, by their numbers in the shard, increasing.
    anchors : Rows
        These atoms as the right side of blocks.
    """

    example: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    q: np.ndarray
    c: np.ndarray
    starts: np.ndarray
    atom: np.ndarray
    codes: np.ndarray
    explicit: np.ndarray
    number: np.ndarray
    anchors: Any
