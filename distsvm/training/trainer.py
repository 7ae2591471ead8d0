"""The trainer: folder, workers and callbacks for runs on the same data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.executors import make_executor
from distsvm.executors.base import Executor
from distsvm.model import Model, load_model
from distsvm.oracles.task import Task
from distsvm.training.callbacks import Callback, LogRounds
from distsvm.training.config import TrainConfig
from distsvm.training.loaded import Given, Loaded, load
from distsvm.training.metrics import RayMetrics, run_name
from distsvm.training.run import Run
from distsvm.training.run_folder import RunFolder
from distsvm.training.saving import Saving, problem_of
from distsvm.training.solving import ONE_PROCESS, Choice
from distsvm.wording import Setting, message


class Trainer:
    """The folder, workers and callbacks of runs on the same data; a context manager.

    `load` lets the workers read the data, and `begin` makes a run on it. The folder notes an error
    that ends the context.
    """

    def __init__(self, task: Task, config: TrainConfig, callbacks: Sequence[Callback]) -> None:
        if not isinstance(task, Task):
            raise ConfigError(f"task is {task!r}, expected an instance of a distsvm.Task")
        self.task, self.config = task, config
        self.started = time.perf_counter()
        logged = [LogRounds(config.verbose)] if config.verbose else []
        self.callbacks = [*callbacks, *logged]
        if config.rescaling not in task.rescalings:
            raise ConfigError(
                message(
                    "{}: {} can do {}",
                    Setting("rescaling", config.rescaling),
                    type(task).__name__,
                    ", ".join(sorted(task.rescalings)),
                )
            )
        if config.penalty not in task.penalties:
            raise ConfigError(
                message(
                    "{}: {} can do {}",
                    Setting("penalty", config.penalty),
                    type(task).__name__,
                    ", ".join(sorted(task.penalties)),
                )
            )
        self.folder = None if config.run_dir is None else RunFolder(config.run_dir)
        self.executor: Executor = make_executor(
            config.executor, config.n_workers, compiled=task.compiled,
            threaded=task.compiled and config.worker_memory_mb is None, **config.executor_options,
        )  # fmt: skip
        if self.executor.name == "ray":
            self.callbacks.append(RayMetrics(run_name(config.run_dir)))

    def lock(self) -> Choice:
        """Lock the folder of the run to resume, and return the recorded choice."""
        if self.folder is None:
            raise ConfigError(message("resume=True needs {run_dir}, the folder of the run"))
        run = self.folder.read()  # first: nothing is written to a damaged folder
        choice = Choice.recorded(run, self.folder.path / "run.json")
        self.folder.lock()
        return choice

    def load(self, given: Given, choice: Choice | None = None) -> Loaded:
        """Let the workers read the data; a resumed run gives its recorded choice."""
        if self.folder is not None and self.executor.name not in ONE_PROCESS:
            self.folder.check_shared(self.executor.name)
        return load(self.task, self.config, given, self.executor, self.folder, choice)

    def begin(
        self,
        loaded: Loaded,
        start: Any = None,
        *,
        resume: bool = False,
        C: float | None = None,
        watching: bool = True,
    ) -> Run:
        """Return a run on this data: new, from the w of an earlier model, or from a checkpoint.

        `C` replaces that of the configuration; for `watching` see Run.
        """
        config, folder, used, saving = self.config, self.folder, None, None
        if folder is not None:
            used = folder.read().get("used", {}) if resume else None
            problem = problem_of(
                loaded.task, config, loaded.solver, loaded.facts, loaded.check_fingerprint
            )
            saving = Saving(folder, config, problem, self.executor, loaded.shards)
        return Run(
            config, loaded, loaded.default_C(config, used) if C is None else C, self.callbacks,
            started=self.started, start=None if start is None else self._start(loaded.task, start),
            saving=saving, resume=resume, watching=watching,
        )  # fmt: skip

    def _start(self, task: Task, start: Any) -> np.ndarray:
        if not isinstance(start, Model):
            start = load_model(start, None if task.compiled else type(task))
        return task.carry(start.w, start.task)

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is not None and self.folder is not None:
                self.folder.fail(error)
        finally:
            try:
                self.executor.close()
            finally:
                if self.folder is not None:
                    self.folder.close()
