"""The climbers of classes: dense rows on a copy of w, sparse ones beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from distsvm.data.features import DenseRows, frozen
from distsvm.kernels.climb import Held, Whole
from distsvm.messages import Planes
from distsvm.oracles.climber import (
    MAX_STEPS,
    Climber,
    HeldVectors,
    Visits,
    joined_change,
)
from distsvm.structures.classes.kernels import climb_held as climb_classes
from distsvm.structures.classes.kernels import climb_whole
from distsvm.vectors import Vector, compact, to_dense

if TYPE_CHECKING:
    from distsvm.structures.classes.oracle import ClassOracle


class ClassVectors(HeldVectors):
    """p of each plane is its row of features, times a difference of codes: nothing is stored."""

    n_bytes = 0

    def __init__(self, oracle: ClassOracle) -> None:
        self._oracle = oracle

    def put(self, planes: Planes, slots: np.ndarray, counts: np.ndarray) -> None:
        """Nothing to do, as in all that follows: nothing is stored."""

    def keep(self, rows: np.ndarray, order: np.ndarray, counts: np.ndarray) -> None:
        pass

    def least_bytes(self, size: int) -> int:
        return 0

    def resize(self, size: int, beside: int) -> None:
        pass

    def take_up(self, held: Held, outputs: np.ndarray) -> None:
        pass

    def fill_gram(
        self, held: Held, outputs: np.ndarray, rows: np.ndarray, slots: np.ndarray
    ) -> None:
        oracle = self._oracle
        climb_classes.gram_of_classes(
            frozen(rows), frozen(slots), oracle.coding, oracle.task.n_codes, held, frozen(outputs),
            oracle.square_norms,
        )  # fmt: skip

    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        return self._oracle.climber(w, sigma)

    def sum(self, held: Held, outputs: np.ndarray, share: np.ndarray) -> Vector:
        row, slot = np.nonzero(share)
        planes = Planes.linear(row, outputs[row * share.shape[1] + slot], held.q[row, slot])
        total = self._oracle.total(self._oracle.dim)
        total.add(planes, share[row, slot])
        return total.vector()


class ClassView(NamedTuple):
    """Weights of the features as they are, shape (d, r), and of the constant one, shape (r,).

    `change` is None, or (Z, changed, share): of the features that `changed` marks the weights are
    V + share·(Z − V).
    """

    V: np.ndarray
    bias: np.ndarray
    change: tuple[np.ndarray, np.ndarray, float] | None = None


class ClassClimber(Climber):
    """What both kinds of rows have in common: the constant feature, which is always copied."""

    def __init__(self, oracle: ClassOracle, w: np.ndarray, sigma: float) -> None:
        self._oracle, self._sigma = oracle, sigma
        self._scale, self._square = oracle.scale, frozen(oracle.scale**2)
        self._w = w.reshape(oracle.scale.size, -1)
        self._V, self._bias = oracle.view(w)[:2]
        self._z_bias = np.array(self._bias)

    def _own_bias(self) -> np.ndarray:
        """Return the constant feature's weights in w + u."""
        return frozen(self._bias + (self._z_bias - self._bias) / self._sigma)

    def _bias_change(self) -> np.ndarray:
        scale = self._scale[-1]
        # Without an intercept its weights stay where they are.
        return (self._z_bias - self._bias) / (self._sigma * (scale or 1.0))

    def _dense_change(self, Z: np.ndarray) -> Vector:
        """u, from the weights of all features in w + σ·u."""
        u = np.empty(self._w.shape)
        np.subtract(Z, self._V, out=u[:-1])
        u[:-1] /= self._sigma * self._scale[:-1, None]
        u[-1] = self._bias_change()
        return compact(u.ravel())

    def _begin(self, Z: np.ndarray, u: Vector) -> None:
        change = self._sigma * self._scale[:, None] * to_dense(u).reshape(self._w.shape)
        Z += change[:-1]
        self._z_bias += change[-1]


class DenseClassClimber(ClassClimber):
    """Copies w class by class: every row touches all features."""

    def __init__(self, oracle: ClassOracle, w: np.ndarray, sigma: float) -> None:
        super().__init__(oracle, w, sigma)
        self._Z = np.array(self._V.T, order="C")

    def visit(self, held: Held, outputs: np.ndarray, rows: np.ndarray, tol: float) -> Visits:
        oracle = self._oracle
        assert isinstance(oracle.rows, DenseRows)
        return Visits(*climb_classes.visit_dense(
            frozen(rows), oracle.rows.values, oracle.coding, held, frozen(outputs), self._square,
            self._sigma, MAX_STEPS, tol, self._Z, self._z_bias,
        ))  # fmt: skip

    def visit_whole(self, whole: Whole, rows: np.ndarray, tol: float) -> Visits:
        oracle = self._oracle
        assert isinstance(oracle.rows, DenseRows)
        return Visits(*climb_whole.visit_dense_whole(
            frozen(rows), oracle.rows.values, oracle.problem, whole, self._square, self._sigma,
            MAX_STEPS, tol, self._Z, self._z_bias,
        ))  # fmt: skip

    def view(self) -> ClassView:
        V = self._V + (self._Z.T - self._V) / self._sigma
        return ClassView(frozen(V), self._own_bias())

    def change(self) -> Vector:
        return self._dense_change(self._Z.T)

    def begin(self, u: Vector) -> None:
        self._begin(self._Z.T, u)


class SparseClassClimber(ClassClimber):
    """Keeps the changed features' weights beside w: there may be many, and few are touched."""

    def __init__(self, oracle: ClassOracle, w: np.ndarray, sigma: float) -> None:
        super().__init__(oracle, w, sigma)
        # Whole weights, not changes of them as in ChangedRows: a visit reads a weight in one place
        # and not in two, which would take it half as long again. What is never written to takes no
        # memory.
        self._Z = np.empty(self._V.shape)
        self._changed = np.zeros(self._V.shape[0], dtype=bool)

    def visit(self, held: Held, outputs: np.ndarray, rows: np.ndarray, tol: float) -> Visits:
        oracle = self._oracle
        return Visits(*climb_classes.visit_sparse_rows(
            frozen(rows), *oracle.sparse(), oracle.coding, held, frozen(outputs), self._square,
            self._sigma, MAX_STEPS, tol, self._V, self._Z, self._changed, self._z_bias,
        ))  # fmt: skip

    def visit_whole(self, whole: Whole, rows: np.ndarray, tol: float) -> Visits:
        self._copy_all()  # nearly all features are touched by visits of nearly all rows
        oracle = self._oracle
        return Visits(*climb_whole.visit_sparse_whole(
            frozen(rows), *oracle.sparse(), oracle.problem, whole, self._square, self._sigma,
            MAX_STEPS, tol, self._Z, self._z_bias,
        ))  # fmt: skip

    def _copy_all(self) -> None:
        if not self._changed.all():
            np.copyto(self._Z, self._V, where=~self._changed[:, None])
            self._changed[:] = True

    def view(self) -> ClassView:
        change = (self._Z, self._changed, 1.0 / self._sigma)
        return ClassView(self._V, self._own_bias(), change)

    def change(self) -> Vector:
        if self._changed.all():
            return self._dense_change(self._Z)
        rows = np.flatnonzero(self._changed)
        inner = (self._Z[rows] - self._V[rows]) / (self._sigma * self._scale[rows, None])
        return joined_change(rows, inner, self._bias_change(), self._w.size)

    def begin(self, u: Vector) -> None:
        self._copy_all()
        self._begin(self._Z, u)
