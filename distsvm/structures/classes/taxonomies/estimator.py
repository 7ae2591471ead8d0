"""TaxonomyClassifier: a linear classifier whose classes share features, such as nodes of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distsvm.errors import DataError
from distsvm.estimators.task_arguments import declared_task, intercept_value
from distsvm.options import declared, documented, usual
from distsvm.structures.classes.estimator import LinearClassSVC
from distsvm.structures.classes.linear import LinearForm
from distsvm.structures.classes.taxonomies.measures import tree_counts
from distsvm.structures.classes.taxonomies.task import TaxonomyTask
from distsvm.structures.classes.taxonomies.taxonomy import SEPARATOR


class TaxonomyForm(LinearForm):
    """Rows of a table with labels; coefficients of classes are made when they are asked for."""

    def keep(self) -> None:
        self.keep_classes()


@documented(declared(TaxonomyTask).values())
@dataclass(kw_only=True, eq=False, repr=False)
class TaxonomyClassifier(LinearClassSVC):
    """A linear classifier of classes with features: Ψ(x, y) = x ⊗ Λ(y), trained to a certified gap.

    y has a label an example, the name or the path of a node (comp/graphics); or it has a column a
    level, of texts, with "" where a path is shorter. Predictions have the form of y.

    Parameters
    ----------
    {}
    codes : array of shape (k, r), optional
        Any other features Λ(y), a row for each class in increasing order of labels. Rows are
        divided by their lengths.
    fit_intercept : bool, default True
        Whether each node has an intercept: the weight of a constant feature, regularised too.
    C, C_per_example, eps, rel_gap, max_rounds, max_seconds, rescaling, penalty, solver,
    solver_options, cache_size, executor, n_workers, n_shards, n_blocks, random_state, verbose,
    run_dir :
        As in MulticlassSVC.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels in increasing order, with those of leaves that have no examples.
    taxonomy_ : Taxonomy
    node_coef_ : float64 array of shape (r, d)
        The weights of each node, or other feature of classes; node z of the taxonomy has row z − 1.
    coef_, intercept_, n_features_in_, feature_names_in_, n_iter_, result_, model_ :
        As in MulticlassSVC. coef_ is made when it is asked for.
    """

    task_class = TaxonomyTask
    form_class = TaxonomyForm

    loss: Any = usual(TaxonomyTask, "losses")
    taxonomy: Any = usual(TaxonomyTask, "taxonomy")
    class_features: str = usual(TaxonomyTask, "class_features")
    depth_weights: Any = usual(TaxonomyTask, "depth_weights")
    glosses: Any = usual(TaxonomyTask, "glosses")
    similarities: Any = usual(TaxonomyTask, "similarities")
    own_weight: float = usual(TaxonomyTask, "own_weight")
    codes: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TaxonomyClassifier:
        """Train until the gap is certified; arguments as in MulticlassSVC.fit."""
        levels = _levels(y)
        super().fit(X, y if levels is None else _joined(levels), sample_weight)
        self.n_levels_ = 0 if levels is None else levels.shape[1]
        self.taxonomy_ = self._trained.tree
        return self

    def _check_classes(self, classes: np.ndarray) -> None:
        """The task counts classes: a taxonomy may have more than the data."""

    def _task(self, classes: np.ndarray) -> TaxonomyTask:
        intercept = intercept_value(self.fit_intercept, self.intercept_scaling)
        return declared_task(TaxonomyTask, self, intercept_scaling=intercept, codes=self.codes)

    @property
    def _trained(self) -> TaxonomyTask:
        check_is_fitted(self)
        task = self.model_.task
        assert isinstance(task, TaxonomyTask)
        return task

    @property
    def node_coef_(self) -> np.ndarray:
        return self._trained.weights(self.model_.w)[0].T

    @property
    def coef_(self) -> np.ndarray:
        return LinearForm(self).coefficients()[0]

    @property
    def intercept_(self) -> np.ndarray:
        return LinearForm(self).coefficients()[1]

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score, the first of them in a tie."""
        found = super().predict(X)
        if not self.n_levels_:
            return found
        paths = [path.split(SEPARATOR) for path in self.paths(found)]
        width = max(self.n_levels_, *map(len, paths))
        return np.array([path + [""] * (width - len(path)) for path in paths])

    def paths(self, labels: Any) -> np.ndarray:
        """Return the path of each of these labels of classes."""
        task = self._trained
        numbers, unseen = task.encode(np.asarray(labels))
        if unseen.size:
            raise DataError(task.why_unseen(unseen.tolist()[0]))
        return np.array(task.class_paths)[numbers]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) share of right rows; a label that is no class is wrong."""
        right = self._numbers(y)[0] == self._predicted(X)
        return float(np.average(right, weights=sample_weight))

    def scores(self, X: Any, y: Any) -> dict[str, Any]:
        """Return accuracy, tree loss, accuracy by level and hierarchical scores.

        h_precision, h_recall and h_f1 are those of the package hiclass (average="micro"), and
        macro_h_precision and so on those of average="macro".
        """
        truth, others = self._numbers(y)
        predicted = self._predicted(X)
        counts = tree_counts(self._trained, truth, others.tolist(), predicted)
        return {"accuracy": float((truth == predicted).mean()), **counts.scores()}

    def _numbers(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        levels = _levels(y)
        labels = np.asarray(y).ravel() if levels is None else _joined(levels)
        return self._trained.encode(labels)

    def _predicted(self, X: Any) -> np.ndarray:
        return self._trained.encode(super().predict(X))[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = False
        return tags


def _levels(y: Any) -> np.ndarray | None:
    """Return y as an array of texts if it has a column a level."""
    table = np.asarray(y)
    if table.ndim != 2 or table.shape[1] < 2:
        return None
    if table.dtype.kind not in "UO":
        raise DataError("y has several columns of numbers, expected texts, a column a level")
    return np.array([["" if name is None else str(name) for name in row] for row in table.tolist()])


def _joined(levels: np.ndarray) -> np.ndarray:
    """Return the path of each row."""
    paths = []
    for number, row in enumerate(levels.tolist()):
        path = [name for name in row if name]
        if not path or row[: len(path)] != path:
            raise DataError(f"example {number}: the levels {row} have a name behind an empty one")
        if any(SEPARATOR in name for name in path):
            raise DataError(f"example {number}: a name in {row} has {SEPARATOR!r} in it")
        paths.append(SEPARATOR.join(path))
    return np.array(paths)
