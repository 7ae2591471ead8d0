"""Train a task on data, or resume a run."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import Any

from distsvm.blas import one_thread
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task
from distsvm.storage import Where
from distsvm.training.callbacks import Callback
from distsvm.training.config import TrainConfig
from distsvm.training.loaded import Given
from distsvm.training.result import TrainResult
from distsvm.training.run_folder import RunFolder
from distsvm.training.trainer import Trainer
from distsvm.wording import Form, Name, Setting, message

log = logging.getLogger(__name__)

TRAIN_AGAIN = Form(
    "call train(…, run_dir=…, resume=True) with the same data",
    "only the Python program that has the data can resume it",
)
OF_THIS_MACHINE = ("auto", "local")
"""Addresses of Ray on this machine."""


def train(
    task: Task,
    data: Any,
    outputs: Any = None,
    *,
    weight: Any = None,
    data_options: dict[str, Any] | None = None,
    validation: Any = None,
    start: Any = None,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    **config: Any,
) -> TrainResult:
    """Train until the gap is certified: min_w ½‖w‖² + C·R(w).

    Parameters
    ----------
    task : Task
    data : (X, y), a list of (x, y) pairs, inputs, a path or paths, or a data set
        See distsvm.data.open_data.
    outputs : sequence, optional
        The outputs, where `data` holds inputs only.
    weight : array of shape (n,), optional
        Example weights; at a given C, 2 is the same as the example twice.
    data_options : dict, optional
        More arguments for open_data, such as format.
    validation : like data, optional
        Stop early when the loss there no longer falls; the model is then the w of the lowest.
    start : Model, or path or URI of a model or run folder, optional
        The first oracle calls are at its w. The data may have more examples, features and classes.
    resume : bool, default False
        Resume from the last checkpoint in run_dir; the result has the same bits as a run without a
        stop.
    callbacks : iterable of Callback
    **config
        The fields of TrainConfig: C, eps, executor, run_dir and so on.

    Returns
    -------
    TrainResult
    """
    settings = TrainConfig.from_dict(config)
    if settings.run_dir is not None and not resume:
        RunFolder(settings.run_dir).check_new()  # before the data is read
    with one_thread(), Trainer(task, settings, list(callbacks)) as trainer:
        choice = trainer.lock() if resume else None
        given = Given(data, outputs, weight, data_options or {}, validation)
        loaded = trainer.load(given, choice)
        return trainer.begin(loaded, start, resume=resume).run()


def resume(
    run_dir: Where,
    *,
    task: type[Task] | None = None,
    callbacks: Iterable[Callback] = (),
    **changes: Any,
) -> TrainResult:
    """Resume a run whose data is in files, from the last checkpoint in its folder.

    Parameters
    ----------
    run_dir : path or URI
    task : class, optional
        The task's class, if it is not one of distsvm's own.
    **changes
        New values for what may differ: when to stop (eps, rel_gap, max_rounds, max_seconds,
        patience) and where to run (executor, n_workers, …). A new eps or rel_gap replaces both
        earlier ones. A folder may come from a stranger, so two values are never taken from it: the
        address of a Ray cluster, to which pickles are sent (name it again, in executor_options or
        as RAY_ADDRESS), and cache_dir.
    """
    folder = RunFolder(run_dir)
    run = folder.read()
    data, validation = run.get("data") or {"paths": None}, run.get("validation")
    for found, what in ((data, "data"), (validation, "validation data")):
        if found is not None and found["paths"] is None:
            text = "the run in {} had its {} in memory; {}"
            raise ConfigError(message(text, run_dir, what, TRAIN_AGAIN))
    fixed = set(changes) - TrainConfig.FREE
    if fixed:
        name = Name(sorted(fixed)[0])
        raise ConfigError(message("{} cannot change when a run is resumed", name))
    config = _without_places(run["config"], changes, str(run_dir)) | changes
    return train(
        folder.task(task),
        data["paths"],
        data_options=data["options"],
        validation=None if validation is None else validation["paths"],
        resume=True,
        callbacks=callbacks,
        **config | {"run_dir": str(run_dir)},
    )


def _without_places(stored: TrainConfig, changes: dict[str, Any], run_dir: str) -> dict[str, Any]:
    """Return the stored configuration without the places that code and data would go to."""
    config = stored.kept(changes)
    if "executor" in changes:
        config["executor_options"] = {}  # those of an earlier executor do not fit another one
    address = config["executor_options"].pop("address", None)
    if address in OF_THIS_MACHINE:
        config["executor_options"]["address"] = address
    elif address and not ("executor_options" in changes or os.environ.get("RAY_ADDRESS")):
        raise ConfigError(
            message(
                "the run in {} was on the Ray cluster at {}. The address is not taken from a run "
                "folder, because code is sent to it. If the cluster is yours, name it again: {}{}, "
                "or the variable RAY_ADDRESS; or name an executor",
                run_dir,
                address,
                Setting("address", address),
                Form(" in executor_options", ""),
            )
        )
    cache_dir = config.pop("cache_dir")
    if cache_dir is not None and "cache_dir" not in changes:
        log.warning(
            message(
                "the run in {} had {}: name it again to have it used, as no folder is taken from "
                "the folder of a run",
                run_dir,
                Setting("cache_dir", cache_dir),
            )
        )
    return config
