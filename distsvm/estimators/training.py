"""The base of all estimators: from stored arguments to a training run and its results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from distsvm.errors import ConfigError, nearest
from distsvm.model import Model
from distsvm.options import Option
from distsvm.oracles.task import Task
from distsvm.training.config import all_options
from distsvm.training.result import TrainResult
from distsvm.training.train import train


def default_of(name: str) -> Any:
    """Return the default of an option of training."""
    return all_options()[name].default


@dataclass(kw_only=True, eq=False, repr=False)
class TrainedEstimator(BaseEstimator):
    """An estimator that stores options of training and solver_options, and trains with them.

    A dataclass, so that each argument is named once; estimators add theirs to these. Its
    constructor only stores, as scikit-learn requires.
    """

    C: float | None = default_of("C")
    C_per_example: float | None = default_of("C_per_example")
    eps: float | None = default_of("eps")
    rel_gap: float | None = default_of("rel_gap")
    max_rounds: int | None = default_of("max_rounds")
    max_seconds: float | None = default_of("max_seconds")
    rescaling: str = default_of("rescaling")
    penalty: str = default_of("penalty")
    solver: str = default_of("solver")
    solver_options: Any = None
    cache_size: int | str = default_of("cache_size")
    executor: str = default_of("executor")
    n_workers: int | None = default_of("n_workers")
    n_shards: int | None = default_of("n_shards")
    n_blocks: int | None = default_of("n_blocks")
    random_state: Any = default_of("random_state")
    verbose: int = default_of("verbose")
    run_dir: Any = default_of("run_dir")

    def __new__(cls, *args: Any, **arguments: Any) -> Any:
        """Refuse an unknown argument with the nearest known one."""
        known = [f.name for f in fields(cls)]
        for name in arguments.keys() - set(known):
            raise TypeError(f"{cls.__name__} has no argument {name!r}{nearest(name, known)}")
        return super().__new__(cls)

    def _train(self, task: Task, data: Any, **data_options: Any) -> None:
        """Set result_, model_ and n_iter_; `data` is a data set, or files with their options."""
        result = train(task, data, data_options=data_options, **self._config())
        warn_if_cut_short(result)
        self.result_: TrainResult = result
        self.model_: Model = result.model
        self.n_iter_: int = result.n_rounds

    def _config(self) -> dict[str, Any]:
        """Return the stored arguments for TrainConfig, which checks their values."""
        more = {} if self.solver_options is None else self.solver_options
        if not isinstance(more, Mapping):
            raise ConfigError("solver_options", more, "a dict of further options of training")
        names = [own.name for own in arguments()]
        twice = sorted(set(more) & set(names))
        if twice:
            raise ConfigError(f"solver_options names {twice[0]}, which is an argument of its own")
        own = {name: getattr(self, name) for name in names}
        own["random_state"] = _seed(self.random_state)
        own["run_dir"] = None if self.run_dir is None else str(self.run_dir)
        return own | dict(more)


def arguments(*own: str) -> list[Option]:
    """Return the options of training that are arguments, under the same names, `own` ones first."""
    known = all_options()
    names = (own.name for own in fields(TrainedEstimator) if own.name != "solver_options")
    return [known[name] for name in (*own, *names)]


def _seed(random_state: Any) -> int | None:
    """Return scikit-learn's random_state as a seed; of a generator, its next number."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def warn_if_cut_short(result: TrainResult) -> None:
    """Warn where a limit ended the run before its gap was certified."""
    if result.stop_reason in ("max_rounds", "max_seconds"):
        warnings.warn(
            f"stopped by {result.stop_reason} after {result.n_rounds} rounds with a gap of "
            f"{result.gap:.3g} to the optimum; {_wanted_gap(result)}",
            ConvergenceWarning,
            stacklevel=4,
        )


def _wanted_gap(result: TrainResult) -> str:
    """Return the rules of the gap, with the gap that each allows."""
    rules = []
    if result.eps is not None:
        rules.append(f"eps={result.eps:.3g} allows C·eps = {result.C * result.eps:.3g}")
    if result.rel_gap is not None:
        most = result.rel_gap * abs(result.primal)
        rules.append(f"rel_gap={result.rel_gap:.3g} allows rel_gap·primal = {most:.3g}")
    return ", or ".join(rules)
