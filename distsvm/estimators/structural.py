"""StructuralSVM: any task as an estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distsvm.errors import ConfigError, DataError
from distsvm.estimators.form import EstimatorForm, all_chunks
from distsvm.estimators.task_arguments import FIELDS, with_arguments
from distsvm.estimators.training import TrainedEstimator
from distsvm.estimators.validation import checked_weight
from distsvm.oracles.structure import imported
from distsvm.oracles.task import Task
from distsvm.oracles.unseen import tell_unseen
from distsvm.registry import structure_of


def _form(estimator: StructuralSVM) -> EstimatorForm:
    return imported(structure_of(estimator.task).form)(estimator)


def _decides(estimator: StructuralSVM) -> bool:
    return _form(estimator).decides


@dataclass(kw_only=True, eq=False, repr=False)
class StructuralSVM(TrainedEstimator):
    """A structural SVM for any task, trained to a certified gap.

    min_w ½‖w‖² + C·Σ c_i·H_i(w) / Σ c_i, with H_i(w) = max_ŷ Δ(y_i, ŷ) − ⟨w, Ψ(x_i, y_i) −
    Ψ(x_i, ŷ)⟩; Ψ, Δ and the search for the maximum are the task's.

    Parameters
    ----------
    task : Task
        Built in, or written in Python. fit does not change it, but sets task_.
    loss, loss_scale, fit_intercept, intercept_scaling, class_weight : default None
        None leaves the task as it is. fit sets others in a copy of it, where they mean the same as
        in MulticlassSVC: loss is the task's field `losses`, fit_intercept=False is
        intercept_scaling 0. A task without such a field refuses them: a SequenceTask, for example,
        has only loss and loss_scale.
    C, C_per_example, eps, rel_gap, max_rounds, max_seconds, rescaling, solver, solver_options,
    cache_size, executor, n_workers, n_shards, n_blocks, random_state, verbose, run_dir :
        As in MulticlassSVC. The default of C has mean ‖Ψ(x_i, y_i)‖² below the line.
        A search over many fits of a Python task is fastest with executor="serial" and the
        search's own n_jobs: each fit would start processes of its own otherwise.

    Attributes
    ----------
    task_ : Task
        The task as it was prepared for the data.
    w_ : float64 array of shape (dim,)
    n_iter_, result_, model_ :
        As in MulticlassSVC.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_ :
        As in MulticlassSVC, for tasks of classes only. classes_ are those of the task where it
        has some that the data does not have.
    """

    task: Task = field(kw_only=False)
    loss: Any = None
    loss_scale: float | None = None
    fit_intercept: bool | None = None
    intercept_scaling: float | None = None
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuralSVM:
        """Train until the gap is certified.

        Parameters
        ----------
        X : sequence of n inputs; for tasks of classes an array or sparse matrix of shape (n, d)
        y : sequence of n outputs; for tasks of classes labels
        sample_weight : array of shape (n,), optional
            At a given C, 2 is the same as the example twice.
        """
        if not isinstance(self.task, Task):
            raise ConfigError("task", self.task, "a Task")
        if y is None:
            raise DataError("StructuralSVM requires y to be passed, but the target y is None")
        task = with_arguments(self.task, **{name: getattr(self, name) for name in FIELDS})
        form = _form(self)
        self._train(task, form.training_data(X, y, sample_weight))
        form.keep()
        self.task_: Task = self.model_.task
        self.w_: np.ndarray = self.model_.w
        return self

    def predict(self, X: Any) -> Any:
        """Return the outputs of highest score: labels for classes, else a list.

        It runs in this process; model_.predict(X, executor=…) uses many, or a cluster.
        """
        check_is_fitted(self)
        return _form(self).predict(X)

    @available_if(_decides)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return X @ coef_.T + intercept_, as in MulticlassSVC; only tasks of classes have it."""
        check_is_fitted(self)
        return _form(self).decision(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) share of examples whose prediction has the loss 0."""
        check_is_fitted(self)
        oracle = _form(self).oracle(X, y)
        tell_unseen([oracle.unseen()])
        view = oracle.view(self.w_)
        losses = [oracle.losses(rows, oracle.decode(view, rows)) for rows in all_chunks(oracle)]
        right = np.concatenate(losses) == 0
        return float(np.average(right, weights=checked_weight(sample_weight)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = _form(self).sparse
        return tags
