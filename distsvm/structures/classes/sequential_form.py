"""What the sequential dual method changes: α of all examples and weights, in each formulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from distsvm.data.features import DenseRows, frozen
from distsvm.oracles.climber import Visits
from distsvm.structures.classes.kernels import dual_boxes, dual_lists, dual_pairs, dual_simplex
from distsvm.structures.classes.kernels.dual_rows import ClassLosses, Duals, Entries

if TYPE_CHECKING:
    from distsvm.structures.classes.oracle import ClassOracle

CRAMMER_SINGER, WESTON_WATKINS, ONE_VS_REST = "crammer-singer", "weston-watkins", "one-vs-rest"

FILLED = 0.5
"""Dense rows in which fewer of the values are not 0 are copied as sparse ones."""
FEW_CLASSES = 16
"""Up to here an example's α have room for all classes from the start; above it, for FIRST_SIZE."""
FIRST_SIZE, GROWTH = 8, 1.5


class Lists(NamedTuple):
    """The classes with α > 0 of each example, and how many they are; see Duals."""

    output: np.ndarray
    alpha: np.ndarray
    filled: np.ndarray

    def copy(self) -> Lists:
        return Lists(*(np.array(array) for array in self))


class Form(ABC):
    """The dual of one formulation over the examples of a shard.

    Weights Z are those of the features as they are, with the change of this block σ times over.

    Parameters
    ----------
    oracle : ClassOracle
    total : float64 array of shape (n,)
        The sum of an example's α with the truth's rest, or the largest that each α may be.
    q : float
        The loss of every mistake; 0 where the oracle's matrix tells it.
    """

    simplex = True
    alone = False

    def __init__(self, oracle: ClassOracle, total: np.ndarray, q: float) -> None:
        self.oracle, self.k = oracle, oracle.n_outputs
        self.entries = _entries(oracle)
        self.losses = ClassLosses(oracle.truths(np.arange(oracle.n)), q, oracle.matrix,
                                  oracle.square_norms)  # fmt: skip
        self._weights: np.ndarray | None = None
        n, size = oracle.n, self._first_size()
        self.duals = Duals(
            np.zeros((n, size), np.int32), np.zeros((n, size)), np.zeros(n, np.int32), total,
            np.full(n, np.inf), np.full(n, np.inf),
        )  # fmt: skip

    def _first_size(self) -> int:
        return self.k - 1 if self.k <= FEW_CLASSES else FIRST_SIZE

    @property
    def lists(self) -> Lists:
        return Lists(*self.duals[:3])

    @lists.setter
    def lists(self, lists: Lists) -> None:
        self.duals = Duals(*lists, *self.duals[3:])

    @property
    def n_bytes(self) -> int:
        """Memory of α, and of dense rows that were copied as sparse ones."""
        copied = isinstance(self.oracle.rows, DenseRows) and not self.entries.dense
        arrays = [*self.duals, *(self.entries[:3] if copied else ())]
        return sum(array.nbytes for array in arrays)

    # --- weights ---------------------------------------------------------------------------

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Z for these w, shape (d + 1, k): a copy, which lasts until the next call."""
        Z = self._weights
        if Z is None:  # a new array each time would take as long as a loop where w is long
            Z = self._weights = np.empty((self.oracle.scale.size, self.k))
        np.copyto(Z, w.reshape(Z.shape))
        _multiply(Z, self.oracle.scale)
        return Z

    def change(self, Z: np.ndarray, w: np.ndarray, sigma: float) -> np.ndarray:
        """u, of which w had none and Z has σ times; in the place of Z, until its next call."""
        _multiply(Z, 1.0 / np.where(self.oracle.scale > 0, self.oracle.scale, 1.0))
        Z -= w.reshape(Z.shape)
        if self.oracle.scale[-1] == 0:  # without an intercept its weights stay where they are
            Z[-1] = 0.0
        if sigma != 1.0:
            Z /= sigma
        return Z.ravel()

    def sum(self, lists: Lists) -> tuple[np.ndarray, float]:
        """Return Σ α·p, of length dim, and Σ α·q."""
        out = np.zeros((self.oracle.scale.size, self.k))
        plain = self.entries._replace(square=self.oracle.scale)
        truth = self.losses.truth
        dual_lists.sum_rows(plain, truth, self.alone, *map(frozen, lists), out)
        return out.ravel(), self.sum_of_losses(lists)

    def sum_of_losses(self, lists: Lists) -> float:
        """Return Σ α·q."""
        return float(dual_lists.sum_losses(self.losses, *map(frozen, lists)))

    # --- visits ----------------------------------------------------------------------------

    @abstractmethod
    def visit(
        self, rows: np.ndarray, whole: bool, sigma: float, tol: float, Z: np.ndarray
    ) -> Visits:
        """Raise the dual over all classes of each of these examples in turn, or the free ones."""

    @abstractmethod
    def judge(self, rows: np.ndarray, Z: np.ndarray, hinge: np.ndarray) -> None:
        """Set the share of the gap and the hinge of each of these examples at Z."""

    def free(self, rows: np.ndarray) -> np.ndarray:
        """Those of the rows whose α are not all at bounds."""
        out = np.empty(rows.size, rows.dtype)
        n = dual_lists.free_rows(frozen(rows), self.simplex, self.duals, out)
        return out[:n]

    def n_values(self, rows: np.ndarray) -> int:
        """How many values of g visits of the free classes of these rows compute."""
        rows = frozen(rows)
        return int(dual_lists.count_values(rows, self.simplex, self.alone, self.duals))

    def _grow(self) -> None:
        lists, n = self.lists, self.oracle.n
        size = min(self.k - 1, int(GROWTH * lists.output.shape[1]) + 1)
        self.lists = self._room(lists, n, size)

    @staticmethod
    def _room(lists: Lists, n: int, size: int) -> Lists:
        """Return the same lists with room for so many classes."""
        output, alpha = np.zeros((n, size), np.int32), np.zeros((n, size))
        output[:, : lists.output.shape[1]] = lists.output
        alpha[:, : lists.alpha.shape[1]] = lists.alpha
        return Lists(output, alpha, lists.filled)

    def mixed(self, before: Lists, share: float) -> None:
        """Go back to (1 − share)·before + share·now."""
        now, n = self.lists, self.oracle.n
        size = before.output.shape[1] + now.output.shape[1]
        to, to_alpha, count = np.zeros((n, size), np.int32), np.zeros((n, size)), now.filled.copy()
        dual_lists.mix_lists(
            *map(frozen, before), *map(frozen, now), share, to, to_alpha, count
        )  # fmt: skip
        size = max(now.output.shape[1], int(count.max(initial=0)))
        self.lists = Lists(
            np.ascontiguousarray(to[:, :size]), np.ascontiguousarray(to_alpha[:, :size]), count
        )

    def rescale(self, total: np.ndarray, factor: float) -> None:
        """Go on with other totals: every α times `factor`, at its bound where it was."""
        duals = self.duals
        full = duals.alpha >= duals.total[:, None]
        alpha = np.minimum(factor * duals.alpha, total[:, None])
        alpha[full] = np.broadcast_to(total[:, None], alpha.shape)[full]
        alpha[np.arange(alpha.shape[1]) >= duals.filled[:, None]] = 0.0
        self.duals = duals._replace(alpha=alpha, total=total, gap=factor * duals.gap)


class SimplexForm(Form):
    """Crammer and Singer's: one hinge an example, the largest of its classes."""

    def visit(
        self, rows: np.ndarray, whole: bool, sigma: float, tol: float, Z: np.ndarray
    ) -> Visits:
        done, found = 0, Visits()
        rows = frozen(rows)
        while True:
            done, *more = dual_simplex.visit_simplexes(
                rows, done, whole, self.entries, self.losses, self.duals, sigma, tol, Z
            )
            found = found.plus(Visits(*more))
            if done >= rows.size:
                return found
            self._grow()

    def judge(self, rows: np.ndarray, Z: np.ndarray, hinge: np.ndarray) -> None:
        dual_simplex.judge_simplexes(
            frozen(rows), self.entries, self.losses, self.duals, frozen(Z), hinge
        )


class BoxesForm(Form):
    """Weston and Watkins's: a hinge for each class but the truth."""

    simplex = False

    def _first_size(self) -> int:
        return self.k

    def visit(
        self, rows: np.ndarray, whole: bool, sigma: float, tol: float, Z: np.ndarray
    ) -> Visits:
        return Visits(*dual_boxes.visit_boxes(
            frozen(rows), whole, self.alone, self.entries, self.losses, self.duals, sigma, tol, Z
        ))  # fmt: skip

    def judge(self, rows: np.ndarray, Z: np.ndarray, hinge: np.ndarray) -> None:
        dual_boxes.judge_boxes(
            frozen(rows), self.alone, self.entries, self.losses, self.duals, frozen(Z), hinge
        )


class RestForm(BoxesForm):
    """One versus rest: a problem for each class, with weights of its own."""

    alone = True


class PairForm(Form):
    """Two classes: one vector z, the difference of the two classes' weights.

    A binary task has this vector alone; else w is that of both classes, w₁ = −w₀ = z / 2.
    """

    def __init__(self, oracle: ClassOracle, total: np.ndarray, q: float) -> None:
        super().__init__(oracle, total, q)
        self._times = 2.0 if oracle.unit else 1.0

    def weights(self, w: np.ndarray) -> np.ndarray:
        both = w.reshape(self.oracle.scale.size, -1)
        one = both[:, 1] - both[:, 0] if self.oracle.unit else both[:, 0]
        return one * self.oracle.scale

    def change(self, Z: np.ndarray, w: np.ndarray, sigma: float) -> np.ndarray:
        scale = self.oracle.scale
        both = w.reshape(scale.size, -1)
        one = both[:, 1] - both[:, 0] if self.oracle.unit else both[:, 0]
        u = (Z / np.where(scale > 0, scale, 1.0) - one) / sigma
        if scale[-1] == 0:
            u[-1] = 0.0
        return self._as_w(u)

    def _as_w(self, one: np.ndarray) -> np.ndarray:
        if not self.oracle.unit:
            return one
        return np.stack([-0.5 * one, 0.5 * one], axis=1).ravel()

    def sum(self, lists: Lists) -> tuple[np.ndarray, float]:
        out = np.zeros((self.oracle.scale.size, 2))
        plain = self.entries._replace(square=self.oracle.scale)
        dual_lists.sum_rows(plain, self.losses.truth, False, *map(frozen, lists), out)
        one = out[:, 1] if not self.oracle.unit else out[:, 1] - out[:, 0]
        return self._as_w(one), self.sum_of_losses(lists)

    def visit(
        self, rows: np.ndarray, whole: bool, sigma: float, tol: float, Z: np.ndarray
    ) -> Visits:
        return Visits(*dual_pairs.visit_pairs(
            frozen(rows), self._times, self.entries, self.losses, self.duals, sigma, tol, Z
        ))  # fmt: skip

    def judge(self, rows: np.ndarray, Z: np.ndarray, hinge: np.ndarray) -> None:
        dual_pairs.judge_pairs(
            frozen(rows), self.entries, self.losses, self.duals, frozen(Z), hinge
        )


FORMS = {WESTON_WATKINS: BoxesForm, ONE_VS_REST: RestForm}


def form_of(oracle: ClassOracle, formulation: str, total: np.ndarray, slack: bool) -> Form:
    """Return the dual of a formulation, whose α are at most these totals.

    With slack rescaling and one loss L of every mistake, a hinge is L times that of loss 1.
    """
    q = oracle.zero_one
    if slack:
        total, q = q * total, 1.0
    if formulation == CRAMMER_SINGER:
        return (PairForm if oracle.n_outputs == 2 else SimplexForm)(oracle, total, q)
    return FORMS[formulation](oracle, total, q)


def _multiply(Z: np.ndarray, factors: np.ndarray) -> None:
    """Multiply each feature's weights by its factor; most have factor 1."""
    rows = np.flatnonzero(factors != 1.0)
    if rows.size:
        Z[rows] *= factors[rows, None]


def _entries(oracle: ClassOracle) -> Entries:
    """Return the rows as the kernels take them: dense ones that are mostly 0 as sparse ones."""
    rows, square = oracle.rows, frozen(oracle.scale**2)
    if not isinstance(rows, DenseRows):
        values, columns, starts = oracle.sparse()
        return Entries(frozen(values), frozen(columns), frozen(starts), False, square)
    X = rows.values
    n, d = X.shape
    starts = np.zeros(n + 1, np.int64)
    dual_lists.count_entries(frozen(X), starts)
    if starts[-1] >= FILLED * n * d:
        every = np.arange(d, dtype=np.int32)
        starts = np.arange(0, n * d + 1, d) if d else np.zeros(n + 1, np.int64)
        return Entries(frozen(X.reshape(-1)), frozen(every), frozen(starts), True, square)
    values, columns = np.empty(starts[-1], X.dtype), np.empty(starts[-1], np.int32)
    dual_lists.write_entries(frozen(X), values, columns)
    return Entries(frozen(values), frozen(columns), frozen(starts), False, square)
