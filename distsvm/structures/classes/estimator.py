"""MulticlassSVC and BinarySVC: linear classifiers with a certificate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distsvm.errors import ConfigError, DataError
from distsvm.estimators.task_arguments import declared_task, intercept_value
from distsvm.estimators.training import TrainedEstimator, arguments, default_of
from distsvm.options import declared, documented, usual
from distsvm.oracles.unseen import tell_unseen
from distsvm.structures.classes.linear import LinearForm
from distsvm.structures.classes.task import BinaryTask, ClassTask, MulticlassTask


@dataclass(kw_only=True, eq=False, repr=False)
class ClassSVC(ClassifierMixin, TrainedEstimator):
    """The common base of the classifiers, without the task."""

    task_class: ClassVar[type[ClassTask]]
    form_class: ClassVar[type[LinearForm]] = LinearForm

    loss: Any = usual(ClassTask, "losses")
    loss_scale: float = usual(ClassTask, "loss_scale")
    fit_intercept: bool = True
    intercept_scaling: float = usual(ClassTask, "intercept_scaling")
    class_weight: Any = usual(ClassTask, "class_weight")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ClassSVC:
        """Train until the gap is certified.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            float32 stays float32; sparse features stay sparse.
        y : labels of shape (n,), numbers or strings
        sample_weight : array of shape (n,), optional
            At a given C, 2 is the same as the example twice. The default of C does not depend on
            the scale of the weights. A class whose weights are all 0 is still a class.
        """
        form = self.form_class(self)
        data = form.training_data(X, y, sample_weight)
        self._check_classes(form.classes)
        self._train(self._task(form.classes), data)
        form.keep()
        return self

    def _check_classes(self, classes: np.ndarray) -> None:
        if classes.size < 2:
            only = classes.tolist()[0]
            raise DataError(f"y has one class, {only!r}; at least two classes are needed")

    def _task(self, classes: np.ndarray) -> ClassTask:
        intercept = intercept_value(self.fit_intercept, self.intercept_scaling)
        return declared_task(self.task_class, self, intercept_scaling=intercept)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of classes; for linear ones X @ coef_.T + intercept_.

        Returns
        -------
        scores : float64 array of shape (n, k) in the order of classes_
            For two classes of shape (n,): the score of classes_[1] less that of classes_[0], so
            that a positive number means classes_[1].
        """
        check_is_fitted(self)
        return self.form_class(self).decision(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score, the first of them in a tie."""
        check_is_fitted(self)
        return self.form_class(self).predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) share of right rows; a label that is no class is wrong."""
        labels = np.asarray(y).ravel()
        tell_unseen([Counter(map(str, labels[~np.isin(labels, self.classes_)].tolist()))])
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassSVC(ClassSVC):
    """The common base of the linear ones, which may scale features."""

    scale: bool = usual(ClassTask, "scale")


@documented(declared(ClassTask).values(), arguments("formulation"))
@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassSVC(LinearClassSVC):
    """A linear classifier of k ≥ 2 classes: Crammer and Singer's SVM, trained to a certified gap.

    min_w ½‖w‖² + C·Σ c_i·H_i(w) / Σ c_i, with H_i(w) = max_ŷ Δ(y_i, ŷ) + s_ŷ(x_i) − s_{y_i}(x_i),
    the weights c_i of the examples, and a weight vector w_y for each class, s_y(x) = ⟨w_y, x⟩.

    Two classes have a weight vector each, too; at the optimum w_0 = −w_1, so `coef_` = w_1 − w_0
    is what BinarySVC finds at 2·C.

    Parameters
    ----------
    {}
    fit_intercept : bool, default True
        Whether each class has an intercept: the weight of a constant feature, regularised too.
    {}
    solver_options : dict, optional
        Further options of training: stabilise, refresh_fraction, qp, idle_solves, max_cuts,
        executor_options, checkpoint_rounds and so on.

    Attributes
    ----------
    coef_ : float64 array of shape (k, d), or (1, d) for two classes
        For the features of fit, also with scale=True.
    intercept_ : float64 array of shape (k,), or (1,) for two classes
    classes_ : array of shape (k,)
        The labels in increasing order.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has column names.
    n_iter_ : int
        Rounds.
    result_ : TrainResult
        certificate, primal, dual, gap, stop_reason, history and more.
    model_ : Model
        It can be saved, and predicts on every executor and from files.
    """

    task_class = MulticlassTask

    formulation: str = default_of("formulation")

    def _config(self) -> dict[str, Any]:
        if self.solver_options and "formulation" in self.solver_options:
            raise ConfigError("solver_options names formulation, which is an argument of its own")
        return super()._config() | {"formulation": self.formulation}


class BinarySVC(LinearClassSVC):
    """A linear classifier of two classes, trained to a certified gap.

    min_w ½‖w‖² + C·Σ c_i·H_i(w) / Σ c_i, with H_i(w) = max(0, Δ − y_i·⟨w, x_i⟩) for margin
    rescaling, where y_i is −1 for classes_[0] and +1 for classes_[1]. At C_per_example it is
    LIBLINEAR's SVM with hinge loss.

    Parameters and attributes are those of MulticlassSVC, and mean the same; `coef_` has shape
    (1, d) and `intercept_` (1,). More than two classes are refused. In the default of C the mean
    is that of ‖½x_i‖².
    """

    task_class = BinaryTask

    def _check_classes(self, classes: np.ndarray) -> None:
        super()._check_classes(classes)
        if classes.size > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y has {classes.size} classes; MulticlassSVC takes any number"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
