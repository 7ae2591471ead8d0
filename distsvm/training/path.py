"""The path of C: one training run for each value, from the end of the last; and the choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from distsvm.blas import one_thread
from distsvm.data import open_data
from distsvm.data.folds import folds
from distsvm.errors import ConfigError
from distsvm.kinds import whole
from distsvm.model import Model
from distsvm.oracles.task import Task
from distsvm.training.callbacks import Callback, PathStep
from distsvm.training.config import TrainConfig
from distsvm.training.ending import score_of
from distsvm.training.loaded import Given
from distsvm.training.path_result import PathPoint, PathResult, across_folds, lowest_loss
from distsvm.training.trainer import Trainer
from distsvm.wording import Setting, message

FACTORS = np.logspace(-3, 3, 13)
"""The default values, in units of the default C."""


def path(
    task: Task,
    data: Any,
    outputs: Any = None,
    *,
    Cs: Iterable[float] | None = None,
    validation: Any = None,
    cv: int | None = None,
    refit: bool = True,
    weight: Any = None,
    data_options: dict[str, Any] | None = None,
    callbacks: Iterable[Callback] = (),
    **config: Any,
) -> PathResult:
    """Train at several values of C, each to its own certificate, and choose the best of them.

    The data is read once, and every value begins with the planes, cuts and scaled α of the one
    before, without an oracle call: a path takes a few times the oracle calls of its hardest value.

    Parameters
    ----------
    task, data, outputs, weight, data_options :
        As in `train`.
    Cs : iterable of float > 0, optional
        Trained in increasing order. Default: 13 values, from 10⁻³ to 10³ times the default C.
    validation : like data, optional
        Scores every value's model; the one of the lowest mean loss is chosen, of equals the
        smallest C. It ends no run.
    cv : int ≥ 2, optional
        Instead of validation: score every value on each of this number of folds, trained on the
        rest at the same C, and choose by the mean. Files are read into memory for that.
    refit : bool, default True
        With cv: train the chosen C on all data, along the path up to it, for the model.
    callbacks : iterable of Callback
        Get `on_step` before each run, then the events of every run.
    **config
        The fields of TrainConfig but C, C_per_example, run_dir and patience. Limits such as
        max_rounds and max_seconds hold for each value.

    Returns
    -------
    PathResult
    """
    settings = _settings(config)
    chosen_by = _checked(validation, cv)
    if cv is not None and settings.worker_memory_mb is not None:
        raise ConfigError(
            message(
                "{} and {worker_memory_mb}: folds are read into memory; give {validation} instead",
                Setting("cv", cv),
            )
        )
    values = None if Cs is None else checked_values(Cs)
    runs = Runs(task, settings, list(callbacks))
    given = Given(data, outputs, weight, data_options or {}, validation)
    with one_thread():
        if cv is None:
            points, model = runs.along(values, given)
            best = None if chosen_by is None else lowest_loss(points)
            return PathResult(
                points, best, model, chosen_by, runs.load_s, interrupted=runs.interrupted
            )
        return _cross_validated(runs, values, given, cv, refit)


def _cross_validated(
    runs: Runs, values: Sequence[float] | None, given: Given, cv: int, refit: bool
) -> PathResult:
    with Trainer(runs.task, runs.config, runs.callbacks) as trainer:
        loaded = trainer.load(given)
    runs.load_s += loaded.load_s
    values = default_values(loaded.default_C(runs.config)) if values is None else values
    # Folds take the prepared task of all data: a fold's own data may lack a rare output.
    within = Runs(loaded.task, runs.config, runs.callbacks)
    opened = open_data(
        given.data, given.outputs, given.weight, tables=runs.task.tables, **given.options
    )
    seed = runs.config.random_state or 0
    scored = []
    for number, (rest, part) in enumerate(folds(opened, cv, seed), 1):
        points, _ = within.along(values, Given(rest, validation=part), (number, cv))
        scored.append(points)
        if within.interrupted:
            break
    points = across_folds(scored) if len(scored) == cv else []
    best, model = lowest_loss(points), None
    again: list[PathPoint] = []
    if refit and best is not None and not within.interrupted:
        again, model = runs.along(values[: best + 1], given, (cv + 1, cv))
    load_s = runs.load_s + within.load_s
    chosen_by = None if best is None else f"{cv} folds"
    interrupted = runs.interrupted or within.interrupted
    return PathResult(points, best, model, chosen_by, load_s, again, interrupted)


class Runs:
    """Runs along values of C, on data that is loaded once for all of them."""

    def __init__(self, task: Task, config: TrainConfig, callbacks: Sequence[Callback]) -> None:
        self.task, self.config, self.callbacks = task, config, callbacks
        self.load_s = 0.0
        self.interrupted = False

    def along(
        self,
        values: Sequence[float] | None,
        given: Given,
        fold: tuple[int, int] = (0, 0),
    ) -> tuple[list[PathPoint], Model | None]:
        """Return a point for each value, until one is interrupted, and the best model.

        That is the model of the lowest validation loss; in the refit (the fold after the last) the
        last one.
        """
        points: list[PathPoint] = []
        model, lowest, is_refit = None, math.inf, fold[0] > fold[1]
        with Trainer(self.task, self.config, self.callbacks) as trainer:
            loaded = trainer.load(given)
            self.load_s += loaded.load_s
            values = default_values(loaded.default_C(self.config)) if values is None else values
            run = trainer.begin(loaded, C=values[0], watching=False)
            for number, C in enumerate(values, 1):
                step = PathStep(C, number, len(values), *fold)
                for callback in self.callbacks:
                    callback.on_step(step)
                if number > 1:
                    run.follow(C)
                result = run.run()
                score = None if given.validation is None else score_of(run)
                points.append(PathPoint.of(result, score))
                for callback in self.callbacks:
                    callback.on_point(step, points[-1])
                self.interrupted = result.stop_reason == "interrupted"
                is_wanted = is_refit and number == len(values)
                if is_wanted or (score is not None and score.mean_loss < lowest):
                    model = result.model
                    lowest = math.inf if score is None else score.mean_loss
                if self.interrupted:
                    break
        return points, model


def default_values(C: float) -> list[float]:
    """Return 13 values around the default C."""
    return [C * factor for factor in FACTORS.tolist()]


def checked_values(Cs: Iterable[float]) -> list[float]:
    """Return the values of C in increasing order, each once."""
    try:
        values = sorted({float(C) for C in Cs})
    except (TypeError, ValueError):
        raise ConfigError("Cs", Cs, "numbers > 0") from None
    if not values:
        raise ConfigError(message("{Cs} is empty: expected at least one value of C"))
    bad = [C for C in values if not 0 < C < math.inf]
    if bad:
        raise ConfigError(message("{Cs} has {}: expected numbers > 0", repr(bad[0])))
    return values


def _settings(config: dict[str, Any]) -> TrainConfig:
    for name in ("C", "C_per_example"):
        if config.get(name) is not None:
            given = Setting(name, config[name])
            raise ConfigError(message("{}: a path takes its values as {Cs}", given))
    if config.get("run_dir") is not None:
        raise ConfigError(
            message(
                "{}: a path has no run folder; train at the chosen C for one",
                Setting("run_dir", str(config["run_dir"])),
            )
        )
    settings = TrainConfig.from_dict(config)
    if settings.penalty == "hard":
        raise ConfigError(
            message("{}: a hard margin has no C, and no path", Setting("penalty", "hard"))
        )
    return settings


def _checked(validation: Any, cv: Any) -> str | None:
    """Return the name of what C is chosen by."""
    if cv is None:
        return None if validation is None else "validation"
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ConfigError("cv", cv, whole(least=2).expected)
    if validation is not None:
        raise ConfigError(message("{cv} and {validation} are both given; give one of them"))
    return f"{cv} folds"
