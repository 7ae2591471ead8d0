"""KernelSVC: classifiers with a kernel function, and a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from distsvm.errors import ConfigError, nearest
from distsvm.estimators.low_rank import LowRankArguments
from distsvm.estimators.task_arguments import declared_task, intercept_value
from distsvm.estimators.training import arguments, default_of
from distsvm.feature_maps import LowRank
from distsvm.feature_maps.options import low_rank_map
from distsvm.kernel_functions.function import matrix as as_matrix
from distsvm.kernel_functions.options import KernelOptions
from distsvm.options import declared, documented, usual
from distsvm.structures.classes.estimator import ClassSVC
from distsvm.structures.classes.kernel_task import (
    KernelBinaryTask,
    KernelClassTask,
    KernelMulticlassTask,
)
from distsvm.structures.classes.linear import LinearForm
from distsvm.structures.classes.task import BinaryTask, ClassTask, MulticlassTask

OWN = ("method", "sample", "certify")
"""Options of the solver that are arguments."""
METHODS = ("auto", "linear-time", "constant-time", "exact", "low-rank")


class KernelForm(LinearForm):
    """Rows of a table with labels; after fit there are classes_ and the support vectors."""

    def keep(self) -> None:
        """Set classes_, support_vectors_, dual_coef_ and intercept_ of the estimator."""
        fitted: Any = self.estimator
        task: ClassTask = fitted.model_.task
        V, bias = task.weights(fitted.model_.w)
        if isinstance(task, KernelClassTask):
            anchors = task.anchor_rows
        else:
            features: Any = task.features
            anchors, V = features.bases, features.projection @ V
        V, bias = task.per_class(V), task.per_class(bias)
        if bias.size == 2:
            V, bias = V[:, 1:] - V[:, :1], bias[1:] - bias[:1]
        fitted.classes_ = self.classes
        fitted.support_vectors_ = as_matrix(anchors, np.float64)
        fitted.dual_coef_, fitted.intercept_ = np.ascontiguousarray(V.T), bias.copy()


@documented(
    declared(KernelOptions).values(),
    [own for name, own in declared(ClassTask).items() if name != "scale"],
    declared(LowRank).values(),
    arguments(*OWN),
)
@dataclass(kw_only=True, eq=False, repr=False)
class KernelSVC(LowRankArguments, ClassSVC):
    """A classifier of k ≥ 2 classes with a kernel function, trained to a certified gap.

    Two classes have one function f: min ½‖f‖² + C·Σ c_i·max(0, 1 − y_i·f(x_i)) / Σ c_i, so that
    C_per_example is the C of scikit-learn's SVC. The intercept is regularised, SVC's is not;
    fit_intercept=False is without in both. More classes have a function each, and Crammer and
    Singer's hinge, as in MulticlassSVC.

    With method="low-rank" f is a sum over some basis inputs, so that any linear solver can train
    it, and the gap is certified for that low-rank problem; sample and certify are not for it.

    Parameters
    ----------
    {}
    {}
    {}
    fit_intercept : bool, default True
        Whether each class has an intercept: the weight of a constant feature, regularised too.
    {}
    solver_options : dict, optional
        Further options of training: quiet_samples, redraws, idle_rounds, qp and so on.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix of shape (n_support, d)
        With method="low-rank" the basis. For kernel="precomputed" unit rows: the 1 of each is at
        the number of a training input.
    dual_coef_ : float64 array of shape (k, n_support), or (1, n_support) for two classes
        The decision function is K(X, support_vectors_) @ dual_coef_.T + intercept_.
    intercept_ : float64 array of shape (k,), or (1,)
    classes_ : array of shape (k,)
        The labels in increasing order.
    n_features_in_, feature_names_in_, n_iter_, result_, model_ :
        As in MulticlassSVC.
    """

    task_class: ClassVar[type[ClassTask]] = KernelMulticlassTask
    form_class: ClassVar[type[LinearForm]] = KernelForm

    kernel: Any = usual(KernelOptions, "kernel")
    method: str = default_of("method")
    sample: int | None = default_of("sample")
    certify: bool = default_of("certify")

    def _task(self, classes: np.ndarray) -> ClassTask:
        intercept = intercept_value(self.fit_intercept, self.intercept_scaling)
        if self.method == "low-rank":
            linear_class = BinaryTask if classes.size == 2 else MulticlassTask
            return declared_task(
                linear_class, self, intercept_scaling=intercept, scale=False,
                features=low_rank_map(vars(self)),
            )  # fmt: skip
        task_class = KernelBinaryTask if classes.size == 2 else KernelMulticlassTask
        return declared_task(task_class, self, intercept_scaling=intercept, scale=False)

    def _config(self) -> dict[str, Any]:
        for name in OWN:
            if self.solver_options and name in self.solver_options:
                raise ConfigError(f"solver_options names {name}, which is an argument of its own")
        if self.method not in METHODS:
            expected = f"one of {', '.join(METHODS)}{nearest(str(self.method), METHODS)}"
            raise ConfigError("method", self.method, expected)
        if self.method == "low-rank":
            return super()._config()
        return super()._config() | {name: getattr(self, name) for name in OWN}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
