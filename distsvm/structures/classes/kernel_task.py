"""Classes with a kernel function: Ψ(x, y) = φ(x) ⊗ Λ(y), where ⟨φ(x), φ(x′)⟩ = K(x, x′)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.features import DenseRows, Rows, SparseRows
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError
from distsvm.kernel_functions.checking import check_gram
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.joint import Expansion
from distsvm.kernel_functions.options import KernelOptions
from distsvm.kernel_functions.sampling import Seen
from distsvm.messages import Summary
from distsvm.options import checked, declared
from distsvm.oracles.task import Circumstances, Task
from distsvm.structures.classes.kernel_oracle import KernelClassOracle
from distsvm.structures.classes.task import BinaryTask, ClassTask, MulticlassTask
from distsvm.wording import Setting, message

SEEN_ROWS = 1000
"""Rows in the sample that settles gamma="median"."""
GRAM_ROWS = 200
"""Sampled rows whose values are checked: symmetric, and positive semidefinite."""
SEED = 0
"""Of the sample: the kernel function does not depend on the run's seed."""


@dataclass(frozen=True, eq=False)
class KernelClassTask(KernelOptions, ClassTask):
    """Classes whose features are those of a kernel function, and a constant one.

    Training works with kernel values. A trained task has anchors, the support vectors: scores are
    Σ_j K(x, a_j)·⟨c_j, Λ(y)⟩, and w has shape (n_anchors + 1, r), flattened, with the c_j as rows;
    its last row is the intercept.

    Parameters
    ----------
    kernel, gamma, degree, coef0 :
        See KernelOptions. After `prepare` the kernel is a KernelFunction, with a number for gamma.
    anchors : array of shape (n_anchors, d), or the values of sparse rows
    anchor_columns, anchor_starts : arrays
        Of sparse rows.
    """

    anchors: np.ndarray | None = None
    anchor_columns: np.ndarray | None = None
    anchor_starts: np.ndarray | None = None
    n_examples: int = 0  # of the training data, known after prepare()

    suited_solver: ClassVar[str] = "sampled-cuts"
    capabilities: ClassVar[frozenset[str]] = frozenset({"kernel"})

    def __post_init__(self) -> None:
        for name in declared(KernelOptions):
            object.__setattr__(self, name, checked(self, name))
        if self.scale:
            raise ConfigError(
                message(
                    "{} and {}: kernel functions take features as they are; scale them yourself",
                    Setting("scale", True),
                    Setting("kernel", getattr(self.kernel, "name", self.kernel)),
                )
            )
        self.function  # noqa: B018 (refuses parameters that do not fit)

    @property
    def penalties(self) -> frozenset[str]:
        return frozenset({"linear"})

    def choose_solver(self, here: Circumstances) -> str:
        return self.suited_solver

    def scan(self, shard: Shard) -> Summary:
        summary = super().scan(shard)
        seen = Seen.of(shard.x, self.n_seen, SEED, shard.first)  # type: ignore[arg-type]
        return replace(summary, seen=seen)

    @property
    def n_seen(self) -> int:
        """The most rows in the sample that `prepare` gets."""
        return SEEN_ROWS

    def prepare(self, summary: Summary) -> KernelClassTask:
        task: Any = super().prepare(summary)
        seen = summary.seen
        function = self.function.settled(seen.without(task.index_base))
        known = np.flatnonzero(seen.numbers >= 0) if function.needs_square else slice(None)
        some = np.arange(seen.keys.size)[known][:GRAM_ROWS]
        rows = seen.rows.take(some)
        if some.size:
            check_gram(
                function.block(rows, function.anchors(rows, seen.numbers[some])), function.name
            )
        return replace(task, kernel=function, n_examples=summary.n_examples)

    def check_loaded(self) -> None:
        super().check_loaded()
        if not isinstance(self.kernel, KernelFunction):
            raise ValueError(f"the kernel is {self.kernel!r:.40}, expected a kernel function")
        if isinstance(getattr(self.kernel, "gamma", 0.0), str):
            raise ValueError("the kernel function's gamma is no number")
        self._check_anchors()

    def _check_anchors(self) -> None:
        values, columns, starts = self.anchors, self.anchor_columns, self.anchor_starts
        if values is None:
            raise ValueError("the model has no support vectors")
        if (columns is None) != (starts is None):
            raise ValueError("anchor_columns and anchor_starts are not both there")
        if columns is None:
            known = isinstance(values, np.ndarray) and values.ndim == 2
            if not known or values.dtype.kind not in "biuf" or not values.dtype.isnative:
                raise ValueError("anchors is no array of numbers of shape (n_anchors, d)")
            if values.shape[1] != self.n_features:
                raise ValueError(
                    f"anchors has {values.shape[1]} columns, expected {self.n_features}"
                )
        else:
            checks.within("anchor_columns", columns, 0, self.n_features)
            checks.starts("anchor_starts", starts, columns.size)
            if int(starts[0]) or int(starts[-1]) != columns.size:  # type: ignore[index]
                raise ValueError("anchor_starts does not begin at 0 or does not end at the end")
            if values.ndim != 1 or values.size != columns.size or values.dtype.kind not in "biuf":
                raise ValueError("anchors is no vector of a number for each of anchor_columns")
        if not np.isfinite(values).all():
            raise ValueError("anchors has a value that is not finite")

    # --- the structure ---------------------------------------------------------------------

    def with_anchors(self, rows: Rows) -> KernelClassTask:
        """Return the task of a model whose support vectors are these rows."""
        if isinstance(rows, DenseRows):
            return replace(self, anchors=rows.values)
        values, columns, starts = rows.arrays()
        return replace(self, anchors=values, anchor_columns=columns, anchor_starts=starts)

    def of_expansion(self, found: Expansion) -> tuple[KernelClassTask, np.ndarray]:
        """Return task and w of a model from anchors with their codes, and the intercept."""
        w = np.concatenate([found.codes, found.explicit[None, :]]).ravel()
        return self.with_anchors(found.anchors), w

    @property
    def anchor_rows(self) -> Rows:
        """The support vectors; none in a task that is not trained."""
        if self.anchors is None:
            return DenseRows(np.zeros((0, self.n_features)))
        if self.anchor_columns is None or self.anchor_starts is None:
            return DenseRows(self.anchors)
        return SparseRows(self.anchors, self.anchor_columns, self.anchor_starts, self.n_features)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return (self.anchor_rows.n_rows + 1) * self.n_codes

    def weights(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(V, bias) with scores K(x, anchors) @ V + bias, shapes (n_anchors, r) and (r,)."""
        V = w.reshape(-1, self.n_codes)
        return V[:-1], V[-1] * self.intercept_scaling

    def joint_features(self, x: Any, y: Any) -> Any:
        raise ConfigError(f"{type(self).__name__} has no features that could be computed")

    def oracle(self, shard: Shard, rescaling: str) -> KernelClassOracle:
        return KernelClassOracle(self, shard, rescaling)

    def carry(self, w: np.ndarray, earlier: Task) -> np.ndarray:
        raise ConfigError(message("{start}: {} begins at w = 0", type(self).__name__))


@dataclass(frozen=True, eq=False)
class KernelMulticlassTask(KernelClassTask, MulticlassTask):
    """k classes with a kernel function: K(x, x′)·⟨Λ(y), Λ(y′)⟩."""


@dataclass(frozen=True, eq=False)
class KernelBinaryTask(KernelClassTask, BinaryTask):
    """Two classes with one function f: Ψ(x, y) = ½y·φ(x), so that ½‖f‖² is SVC's."""
