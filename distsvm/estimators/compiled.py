"""The base of estimators of compiled tasks: examples are in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distsvm.data import Dataset, PairData
from distsvm.data.dataset import checked_weights
from distsvm.data.opening import names_files
from distsvm.errors import ConfigError, DataError
from distsvm.estimators.task_arguments import declared_task
from distsvm.estimators.training import TrainedEstimator
from distsvm.estimators.validation import checked_weight, one_by_one
from distsvm.oracles.task import Task
from distsvm.workers.shard_worker import ShardWorker

Self = TypeVar("Self", bound="CompiledEstimator")


@dataclass(kw_only=True, eq=False, repr=False)
class CompiledEstimator(TrainedEstimator):
    """An estimator of one compiled task whose examples are lists, files or a data set.

    Its arguments with the names of options that `task_class` declares become fields of the task.
    """

    task_class: ClassVar[type[Task]]

    data_options: Any = None

    def _task(self) -> Task:
        """Return the task of the arguments."""
        return declared_task(self.task_class, self)

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train until the gap is certified.

        Parameters
        ----------
        X : sequence of n inputs; or path, pattern, folder, list of paths, or a data set
            Files are read by the workers, and contain the outputs; see open_data.
        y : sequence of n outputs; None for files and data sets
        sample_weight : array of shape (n,), optional
            At a given C, 2 is the same as the example twice; only for examples in memory.
        """
        task, weight = self._task(), checked_weight(sample_weight)
        if _is_elsewhere(X, y):
            if weight is not None:
                raise ConfigError("sample_weight is for examples in memory, not for files")
            self._train(task, X, **self._reading())
        else:
            inputs, outputs = self._pair(X, y)
            if outputs is None:
                raise DataError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None"
                )
            self._train(task, PairData(inputs, outputs, weight))
        self.task_: Task = self.model_.task
        self.w_: np.ndarray = self.model_.w
        return self

    def predict(self, X: Any) -> list[Any]:
        """Return the outputs of highest score, in order.

        Examples in memory are predicted in this process, files (read as those of fit were) on the
        executor.
        """
        if "model_" not in vars(self):  # check_is_fitted takes longer than a short sentence
            check_is_fitted(self)
        if (found := self.model_.predicted_here(X)) is not None:
            return found
        parts = self._over(X, None, ShardWorker.predict)
        return [output for part in parts for output in part]

    def _over(self, X: Any, y: Any, function: Callable[[ShardWorker, np.ndarray], Any]) -> list:
        """Return function(worker, w) of each piece; y is None, outputs, or REQUIRED."""
        check_is_fitted(self)
        labelled = y is not None
        y = None if y is REQUIRED else y
        data, place = self._data(X, y, labelled)
        return list(self.model_.over_pieces(function, self.model_.pieces(data), **place))

    def _data(self, X: Any, y: Any, labelled: bool) -> tuple[Dataset, dict[str, Any]]:
        """Return examples for prediction, and the options of where to predict."""
        if _is_elsewhere(X, y):
            more = {} if self.solver_options is None else self.solver_options
            place = {"executor": self.executor, "n_workers": self.n_workers}
            if "executor_options" in more:
                place["executor_options"] = more["executor_options"]
            return (self.model_.examples if labelled else self.model_.inputs)(X), place
        inputs, outputs = self._pair(X, y)
        if labelled and outputs is None:
            raise DataError("the outputs y are missing; only files and data sets contain theirs")
        outputs, here = outputs if labelled else None, {"executor": "serial"}
        if self.model_.are_words(inputs):
            return self.model_.sentences(inputs, outputs), here
        return PairData(inputs, outputs), here

    def _pair(self, X: Any, y: Any) -> tuple[Sequence[Any], Sequence[Any] | None]:
        """Return inputs and outputs in memory as two sequences."""
        if names_files([X], None):
            raise DataError(f"X names the file {X!r}, which contains its outputs: y must be None")
        return one_by_one(X), None if y is None else one_by_one(y)

    def _reading(self) -> dict[str, Any]:
        options = {} if self.data_options is None else self.data_options
        if not isinstance(options, Mapping):
            raise ConfigError("data_options", options, "a dict of options of open_data")
        return dict(options)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # files contain their outputs
        tags.input_tags.two_d_array = False
        return tags


REQUIRED = object()
"""A value of y: outputs are required, and may come from files."""


def weighted_share(part: Sized, whole: Sized, weight: Any) -> float:
    """Return Σ c_i·part_i / Σ c_i·whole_i, with ones for no weights; 0 where the sum is 0."""
    c = checked_weights(weight, len(whole))
    c = np.ones(len(whole)) if c is None else c
    total = float(c @ np.asarray(whole, dtype=np.float64))
    return float(c @ np.asarray(part, dtype=np.float64)) / total if total > 0 else 0.0


def _is_elsewhere(X: Any, y: Any) -> bool:
    return y is None and (hasattr(X, "specs") or names_files(X))
