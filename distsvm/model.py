"""Model: a task and its w. Predicts, evaluates, and is kept in a folder without pickle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.data import Dataset, open_data, open_inputs
from distsvm.data.shard import ShardSpec
from distsvm.errors import ModelError
from distsvm.executors import make_executor
from distsvm.messages import Score
from distsvm.storage import read_arrays, read_json, write_arrays, write_json, written_aside
from distsvm.tasks.base import Task
from distsvm.tasks.registry import describe, rebuild
from distsvm.version import __version__
from distsvm.workers.shard_worker import ShardWorker

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Model:
    """What training gives: predictions argmax_ŷ ⟨w, Ψ(x, ŷ)⟩.

    Parameters
    ----------
    task : Task, prepared
    w : float64 array of shape (dim,)
    facts : dict
        JSON-able notes on how it came to be: certificate, C, eps.
    """

    task: Task
    w: np.ndarray
    facts: dict[str, Any] = field(default_factory=dict)

    def predict(
        self, data: Any, *, executor: str = "auto", n_workers: int | None = None, **options: Any
    ) -> Any:
        """The predicted outputs: an array of labels for classes, else a list."""
        parts = list(self.predictions(data, executor=executor, n_workers=n_workers, **options))
        if parts and isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return [output for part in parts for output in part]

    def predictions(
        self, data: Any, *, executor: str = "auto", n_workers: int | None = None, **options: Any
    ) -> Iterator[Any]:
        """The predicted outputs shard by shard, in order; little is in memory at a time."""
        inputs = open_inputs(data, tables=self.task.tables, **options)
        return self._map(_predict, inputs, executor, n_workers)

    def evaluate(
        self,
        data: Any,
        outputs: Any = None,
        *,
        weight: Any = None,
        executor: str = "auto",
        n_workers: int | None = None,
        **options: Any,
    ) -> Score:
        """Mean loss and accuracy on data with outputs."""
        examples = open_data(data, outputs, weight, tables=self.task.tables, **options)
        scores = self._map(_evaluate, examples, executor, n_workers)
        total = next(scores)
        for score in scores:
            total = total + score
        return total

    def _map(
        self, function: Any, data: Dataset, executor: str, n_workers: int | None
    ) -> Iterator[Any]:
        specs = data.specs(None)
        if len(specs) == 1:
            executor, n_workers = "serial", None  # nothing to share out
        with make_executor(executor, n_workers, compiled=self.task.compiled) as workers:
            yield from workers.map(function, specs, self.task, self.w)

    def save(self, path: str | Path) -> None:
        """Write the model to a folder: manifest.json and arrays.npz."""
        data, arrays = describe(self.task)
        with written_aside(Path(path)) as folder:
            named = {f"task.{name}": array for name, array in arrays.items()}
            digest = write_arrays(folder / "arrays.npz", {"w": self.w, **named})
            write_json(
                folder / "manifest.json",
                {
                    "kind": "distsvm model",
                    "format": FORMAT,
                    "version": __version__,
                    "digest": digest,
                    **data,
                    "facts": self.facts,
                },
            )


def load_model(path: str | Path, task: type[Task] | None = None) -> Model:
    """The model that was saved in a folder.

    Parameters
    ----------
    path : str or Path
    task : class, optional
        The task's class, if it is not one of distsvm's own; its code is never taken from a file.
    """
    folder = Path(path)
    manifest = read_json(folder / "manifest.json", ModelError)
    if not isinstance(manifest, dict) or manifest.get("kind") != "distsvm model":
        raise ModelError(f"{folder} does not hold a model of distsvm")
    if manifest.get("format", 0) > FORMAT:
        raise ModelError(
            f"{folder} has format {manifest['format']}, this version of distsvm "
            f"({__version__}) reads up to {FORMAT}; upgrade distsvm"
        )
    try:
        arrays = read_arrays(folder / "arrays.npz", ModelError, manifest["digest"])
        fields = {n.removeprefix("task."): a for n, a in arrays.items() if n.startswith("task.")}
        loaded = rebuild(manifest, fields, task)
        w = arrays["w"]
        if w.shape != (loaded.dim,):
            raise ModelError(f"{folder}: w has shape {w.shape}, the task has dim {loaded.dim}")
        return Model(loaded, w, manifest.get("facts", {}))
    except (KeyError, TypeError) as error:
        raise ModelError(f"{folder}/manifest.json is damaged: {error!r}") from error


def _bound(spec: ShardSpec, task: Task) -> ShardWorker:
    worker = ShardWorker(spec)
    worker.scan(task)  # the same checks as in training
    worker.attach(task)
    return worker


def _predict(spec: ShardSpec, task: Task, w: np.ndarray) -> Any:
    return _bound(spec, task).predict(w)


def _evaluate(spec: ShardSpec, task: Task, w: np.ndarray) -> Score:
    return _bound(spec, task).evaluate(w)
