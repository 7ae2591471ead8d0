"""The oracle of classes with a kernel function: scores from blocks of kernel values."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distsvm.data.features import Rows
from distsvm.kernel_functions.function import BLOCK_ROWS, Right
from distsvm.kernel_functions.joint import Entries, Expansion, JointKernel
from distsvm.messages import Planes
from distsvm.oracles.search import Separation
from distsvm.structures.classes.oracle import ClassOracle

if TYPE_CHECKING:
    from distsvm.structures.classes.kernel_task import KernelClassTask


class KernelView(NamedTuple):
    """w as scores take it: K(x, right) @ V + bias."""

    right: Right
    V: np.ndarray
    bias: np.ndarray


class KernelClassOracle(ClassOracle):
    """Classes of rows, by blocks of kernel values with the anchors of w."""

    task: KernelClassTask

    def view(self, w: Any) -> Any:
        """Return the view of a model's w, or of an Expansion."""
        task = self.task
        if isinstance(w, Expansion):
            V, bias, anchors = w.codes, task.intercept_scaling * w.explicit, w.anchors
        else:
            (V, bias), anchors = task.weights(w), task.anchor_rows
        return KernelView(task.function.right(anchors), V, bias)

    def scores(self, view: Any, rows: np.ndarray) -> np.ndarray:
        """⟨w, Ψ(x, ŷ)⟩ of every class, shape (m, k)."""
        out = np.empty((rows.size, view.bias.size))
        for start in range(0, rows.size, BLOCK_ROWS):
            some = self.rows.take(rows[start : start + BLOCK_ROWS])
            values = self.task.function.of_rows(some, view.right)
            np.matmul(values, view.V, out=out[start : start + BLOCK_ROWS])
        return self.task.per_class(out + view.bias)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The places of the rows in the training data."""
        return np.asarray(self.names.rows, np.int64) + (self.names.first or 0)

    @cached_property
    def square_norms(self) -> np.ndarray:
        """K(x_i, x_i) of every row, and the square of the constant feature."""
        own = self.task.function.diagonal(self.rows, self.numbers)
        return own + self.task.intercept_scaling**2

    def joint_kernel(self) -> JointKernel:
        """The examples for solvers that work with kernel values."""
        return ClassKernel(self)


class ClassKernel(JointKernel):
    """K(x, x′)·⟨Λ(y), Λ(y′)⟩: an example has one atom, its row; the intercept is explicit."""

    def __init__(self, oracle: KernelClassOracle) -> None:
        task = oracle.task
        self._oracle, self.function = oracle, task.function
        self.n_codes = self.n_explicit = task.n_codes
        self.atoms: Rows = oracle.rows
        self.starts, self.numbers = np.arange(oracle.n + 1), oracle.numbers
        table = task.code_table()
        self._codes = np.eye(task.n_codes) if table is None else table

    def entries(self, planes: Planes) -> Entries:
        codes = self._codes[self._oracle.truths(planes.row)] - self._codes[planes.output]
        if self._oracle.slack:
            codes *= planes.q[:, None]
        explicit = self._oracle.task.intercept_scaling * codes
        return Entries(np.arange(len(planes) + 1), planes.row, codes, explicit)

    def separate(self, scores: np.ndarray, explicit: np.ndarray, rows: np.ndarray) -> Separation:
        task = self._oracle.task
        found = scores + task.intercept_scaling * explicit
        return self._oracle.separate_scores(task.per_class(found), rows)
