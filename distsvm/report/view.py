"""The facts of a run that a report shows, whether the run ended, is under way, or was killed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distsvm.errors import CheckpointError, ModelError
from distsvm.model import load_model
from distsvm.oracles.structure import imported
from distsvm.registry import structure_of_saved
from distsvm.report.result_file import read_result
from distsvm.solvers.round import Round
from distsvm.solvers.state import PHASES
from distsvm.storage import MANIFEST, Place, Where, place, read_arrays, read_json
from distsvm.training.config import TrainConfig
from distsvm.training.run_folder import RunFolder

SHORT = 12  # the longest array that is shown in full


@dataclass(frozen=True)
class WorkerShare:
    """One worker's part of the run's last session."""

    worker: int
    busy_s: float
    share: float
    n_shards: int | None = None
    n_restarts: int | None = None


@dataclass(frozen=True, eq=False)
class RunView:
    """A run's folder, read once.

    Parameters
    ----------
    run : dict
        run.json without the configuration.
    last_result : dict or None
        result.json as read_result returns it, possibly of a session before the last.
    learned : dict
        The fields of the model's task; of its arrays only the labels.
    picture : (str, str) or None
        Title and SVG of the structure's picture of the run's model.
    """

    path: Place
    run: dict[str, Any]
    config: TrainConfig
    history: list[Round]
    last_result: dict[str, Any] | None
    learned: dict[str, Any]
    picture: tuple[str, str] | None = None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if it is that of the last round in the history."""
        result = self.last_result
        if result is None or not self.history:
            return None
        return result if result["n_rounds"] == self.history[-1].number else None

    @property
    def last(self) -> Round | None:
        return self.history[-1] if self.history else None

    def known(self, name: str) -> float | None:
        """Return C, eps or rel_gap as used; None where it is not recorded, or not a rule."""
        used = self.last_result or self.run.get("used") or {}
        value = used[name] if name in used else getattr(self.config, name)
        return None if value is None else float(value)

    def bound(self, name: str) -> float:
        """Return primal, dual or gap of the result, else of the last round; NaN without rounds."""
        if self.result is not None:
            return self.result[name]
        if self.last is None:
            return math.nan
        return float(getattr(self.last, "best_primal" if name == "primal" else name))

    def column(self, name: str) -> np.ndarray:
        """Return one field of every round as floats, with NaN for None."""
        return np.array([record.value(name) for record in self.history], dtype=float)

    @property
    def fresh(self) -> np.ndarray:
        """A mask of the fresh rounds."""
        return np.array([record.kind == "fresh" for record in self.history], dtype=bool)

    @property
    def n_examples(self) -> int | None:
        """The number of examples; None where it is not recorded."""
        n = self.run.get("used", {}).get("n_examples")
        return n if isinstance(n, int) and n > 0 else None

    def seconds(self) -> dict[str, float]:
        """Return seconds by phase; without a result, "load and other" is one phase."""
        if self.result is not None:
            phases = dict(self.result["seconds"])
            phases.pop("total", None)
            return phases
        if self.last is None:
            return {}
        spent = {name: self.last.seconds.get(name, 0.0) for name in PHASES}
        rest = max(0.0, self.last.elapsed_s - sum(spent.values()))
        return spent | {"load and other": rest}

    @property
    def resumed(self) -> bool:
        return self._session_start_s > 0

    def load_s(self) -> float:
        """Return seconds before the first round; 0 where they are not recorded."""
        if self.result is None or self.resumed:
            return 0.0
        return self.result["seconds"].get("load", 0.0)

    def workers(self) -> list[WorkerShare]:
        """Return each worker's busy time and its share of the last session."""
        if self.last is None:
            return []
        if self.result is not None and self.result["activity"]:
            session_s = self.result["seconds"]["total"] - self._session_start_s
            return [
                WorkerShare(
                    a["worker"], a["busy_s"], _share(a["busy_s"], session_s),
                    a["n_shards"], a["n_restarts"],
                )
                for a in self.result["activity"]
            ]  # fmt: skip
        session_s = self.last.elapsed_s - self._session_start_s
        return [
            WorkerShare(i, busy_s, _share(busy_s, session_s))
            for i, busy_s in enumerate(self.last.busy_s)
        ]

    @cached_property
    def _session_start_s(self) -> float:
        """Start of the last session: a resumed run's busy times start again at 0."""
        start = 0.0
        for before, after in zip(self.history[:-1], self.history[1:], strict=True):
            if len(after.busy_s) != len(before.busy_s) or sum(after.busy_s) < sum(before.busy_s):
                start = before.elapsed_s
        return start


def read_run(run_dir: Where) -> RunView:
    """Read a run's folder; any other folder raises a CheckpointError."""
    path = place(run_dir)
    if not (path / "run.json").is_file():
        raise CheckpointError(f"{path} is not the folder of a run: it has no run.json")
    folder = RunFolder(path)
    run = folder.read()
    config = run.pop("config")
    return RunView(
        path=path,
        run=run,
        config=config,
        history=folder.history(),
        last_result=read_result(path / "result.json"),
        learned=_learned(path / "model"),
        picture=_picture(path / "model"),
    )


def _learned(folder: Place) -> dict[str, Any]:
    """Return the fields of a saved model's task; of its arrays only the labels."""
    path = folder / MANIFEST
    manifest = read_json(path, CheckpointError) if path.exists() else {}
    fields = manifest.get("fields", {}) if isinstance(manifest, dict) else None
    if not isinstance(fields, dict):
        raise CheckpointError(f"{folder} is damaged: its fields are {fields!r:.40}")
    structure = structure_of_saved(str(manifest.get("task")))
    labels = {f"task.{field}" for field in structure.labels}
    try:
        arrays = read_arrays(folder / "arrays.npz", CheckpointError, only=labels.__contains__)
    except CheckpointError:
        return fields
    return fields | {name.removeprefix("task."): _brief(array) for name, array in arrays.items()}


def _picture(folder: Place) -> tuple[str, str] | None:
    """Return the structure's picture of the model; None without one, or if it is unreadable."""
    manifest = read_json(folder / MANIFEST, CheckpointError) if folder.exists() else {}
    picture = structure_of_saved(manifest.get("task")).picture
    if picture is None:
        return None
    try:
        return imported(picture)(load_model(folder))
    except ModelError:
        return None


def _brief(array: np.ndarray) -> Any:
    if array.size <= SHORT:
        return array.tolist()
    return f"{array.size} labels, {array.flat[0]} to {array.flat[-1]}"


def _share(busy_s: float, session_s: float) -> float:
    return min(1.0, busy_s / session_s) if session_s > 0 else math.nan
