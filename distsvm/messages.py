"""All that crosses a process border: frozen, arrays and numbers, and sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distsvm.vectors import Vector, add, compact, scale


@dataclass(frozen=True, eq=False)
class Summary:
    """What one scan of a shard, or of all shards, tells; summaries add up.

    Parameters
    ----------
    n_examples : int
    weight : float
        Σ c_i of the examples' own weights (class weights come later).
    labels, counts : arrays of shape (k,), or None
        The distinct labels in increasing order, and how many examples have each, by weight
        (Σ c_i); None for outputs that are not labels.
    least_column, n_columns : int
        The smallest column stored, and 1 + the largest, as the file counts them; 0, 0 without
        features.
    largest : float64 array of shape (n_columns,), or None
        max_i |x_ij| of each column.
    n_weighted : int
        Examples of weight > 0; 0 where the task does not count them.
    columns : tuple of str, optional
        The names of the columns, where they have some.
    """

    n_examples: int
    weight: float
    labels: np.ndarray | None = None
    counts: np.ndarray | None = None
    least_column: int = 0
    n_columns: int = 0
    largest: np.ndarray | None = None
    n_weighted: int = 0
    columns: tuple[str, ...] | None = None

    def __add__(self, other: Summary) -> Summary:
        labels, counts = None, None
        if self.labels is not None and other.labels is not None:
            labels, place = np.unique(
                np.concatenate([self.labels, other.labels]), return_inverse=True
            )
            assert self.counts is not None
            assert other.counts is not None
            counts = np.bincount(
                place.ravel(), np.concatenate([self.counts, other.counts]), labels.size
            )
        largest = None
        if self.largest is not None and other.largest is not None:
            largest = np.zeros(max(self.n_columns, other.n_columns))
            for part in (self.largest, other.largest):
                np.maximum(largest[: part.size], part, out=largest[: part.size])
        return Summary(
            n_examples=self.n_examples + other.n_examples,
            weight=self.weight + other.weight,
            labels=labels,
            counts=counts,
            least_column=min(self.least_column, other.least_column),
            n_columns=max(self.n_columns, other.n_columns),
            largest=largest,
            n_weighted=self.n_weighted + other.n_weighted,
            columns=self.columns or other.columns,
        )


def feature_name(columns: Sequence[str] | None, column: int) -> str:
    """What messages call a column of features: by its name, or by its number in the data."""
    return f"feature {column if columns is None else repr(columns[column])}"


@dataclass(frozen=True, eq=False)
class Planes:
    """One plane (p, q) for each of some examples of a shard, by its output, not by its features.

    Parameters
    ----------
    row : int64 array of shape (m,)
        The example's place in its shard.
    output : array-like of length m, indexed by integer arrays
        ŷ in the form that the shard's oracle keeps outputs in.
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
        """Planes of the linear penalty, whose q is Δ."""
        return cls(row, output, loss, loss)

    def __len__(self) -> int:
        return self.row.size

    def take(self, which: np.ndarray) -> Planes:
        q = self.q[which]
        loss = q if self.loss is self.q else self.loss[which]
        return Planes(self.row[which], self.output[which], q, loss)


@dataclass(frozen=True, eq=False)
class Sums:
    """What a round brings home from one shard, or from a group of them; sums add up.

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
        Planes held in the cache afterwards.
    exact : bool
        Whether every fresh plane is the exact maximum (otherwise `upper` only bounds it).
    late : bool
        Whether the time was over before all that were to be asked were.
    """

    a: Vector
    b: float
    upper: float
    n_fresh: int
    n_calls: int
    n_hits: int
    n_planes: int
    exact: bool
    late: bool = False

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            a=add(self.a, other.a),
            b=self.b + other.b,
            upper=self.upper + other.upper,
            n_fresh=self.n_fresh + other.n_fresh,
            n_calls=self.n_calls + other.n_calls,
            n_hits=self.n_hits + other.n_hits,
            n_planes=self.n_planes + other.n_planes,
            exact=self.exact and other.exact,
            late=self.late or other.late,
        )

    def __getstate__(self) -> dict[str, Any]:
        # In one process dense vectors add fastest; on the wire the smaller form is better.
        a = compact(self.a) if isinstance(self.a, np.ndarray) else self.a
        return self.__dict__ | {"a": a}


@dataclass(frozen=True, eq=False)
class Regain:
    """What is different for blocks that have to find again what a worker has lost.

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
    """What a block is to do in one round of the dual ascent.

    Parameters
    ----------
    number : int
        Of the round; the order of visits depends on it.
    taken : float
        The part of the last round's changes of α that was taken, in [0, 1].
    sigma : float
        σ′: how many times over the block counts its own change of w, since others change w too.
    ask : str
        Whom to ask the oracle about, before the passes: "all" (at w itself, which certifies),
        "some", or "none".
    share : float
        For "some": this part of the examples, those with the largest shares of the gap.
    n_passes : int
        At most so many passes over the planes that are held.
    n_parts : int
        For "some": the passes are over one part of so many, another in each round.
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
class Holding:
    """Σ α·p and Σ α·q of a block's planes, made anew: a cut of its examples.

    `number` is that of the last round that the block took part in; 0 if it began anew since.
    Those of parts of a block add up.
    """

    a: Vector
    b: float
    number: int

    def __add__(self, other: Holding) -> Holding:
        return Holding(add(self.a, other.a), self.b + other.b, self.number)


@dataclass(frozen=True, eq=False)
class Ascended:
    """What one block brings home from a round of the dual ascent; parts of a block add up.

    Parameters
    ----------
    u, linear : Vector, float
        The changes of Σ α·p and Σ α·q.
    gain : float
        Of the dual, if no other block had changed anything.
    holding : Holding or None
        What the block had before the changes; only where all were asked.
    upper, exact :
        Σ c_i·(upper bound of H_i(w)), and whether it is the exact maximum; infinite unless all
        were asked.
    gap, held_gap : float
        The sum of the examples' shares of the gap, when the oracle was last asked about them, and
        as far as the planes show it that are held.
    n_calls, n_visits, n_planes, n_support, n_refused, n_bytes : int
        Oracle calls of this round, among them visits that search all outputs, and other visits;
        planes held, those with α > 0, planes ever refused for want of memory, and the memory that
        they take: of parts, of which one is in memory at a time, the most that one takes.
    work : float
        Of this round.
    lost : bool
        Whether the block began anew: its worker was built again since the last round.
    late : bool
        Whether the time was over before the round was.
    """

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

    def without_change(self) -> Ascended:
        """The same answer where the changes are lost."""
        return replace(self, u=scale(self.u, 0.0), linear=0.0)

    def __add__(self, other: Ascended) -> Ascended:
        both = self.holding is not None and other.holding is not None
        return Ascended(
            u=add(self.u, other.u),
            linear=self.linear + other.linear,
            gain=self.gain + other.gain,
            holding=self.holding + other.holding if both else None,  # type: ignore[operator]
            upper=self.upper + other.upper,
            exact=self.exact and other.exact,
            gap=self.gap + other.gap,
            held_gap=self.held_gap + other.held_gap,
            n_calls=self.n_calls + other.n_calls,
            n_visits=self.n_visits + other.n_visits,
            n_planes=self.n_planes + other.n_planes,
            n_support=self.n_support + other.n_support,
            n_refused=self.n_refused + other.n_refused,
            n_bytes=max(self.n_bytes, other.n_bytes),
            work=self.work + other.work,
            lost=self.lost or other.lost,
            late=self.late or other.late,
        )


@dataclass(frozen=True, eq=False)
class Facts:
    """What a shard, or all shards, say once their task is bound; facts add up.

    Parameters
    ----------
    n_examples, n_dropped : int
        Examples that are trained on, and those left out because the task cannot (see Task.unfit).
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
        Digests of the shards' examples, in shard order; empty unless it was asked for.
    """

    n_examples: int
    n_dropped: int
    n_weighted: int
    weight: float
    square_norm: float
    square_radius: float | None
    data_bytes: int
    plane_bytes: int
    fingerprint: str

    def __add__(self, other: Facts) -> Facts:
        known = self.square_radius is not None and other.square_radius is not None
        return Facts(
            self.n_examples + other.n_examples,
            self.n_dropped + other.n_dropped,
            self.n_weighted + other.n_weighted,
            self.weight + other.weight,
            self.square_norm + other.square_norm,
            max(self.square_radius, other.square_radius) if known else None,  # type: ignore[type-var]
            self.data_bytes + other.data_bytes,
            self.plane_bytes + other.plane_bytes,
            self.fingerprint + other.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class Score:
    """How well some predictions do; scores add up."""

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

    def __add__(self, other: Score) -> Score:
        return Score(
            self.n_examples + other.n_examples,
            self.weight + other.weight,
            self.loss + other.loss,
            self.n_correct + other.n_correct,
        )
