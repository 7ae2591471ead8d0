"""What a report knows of a run, whether it ended, is still going, or was killed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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

# Arrays up to this length are shown in full.
SHORT = 12


@dataclass(frozen=True)
class WorkerShare:
    """What one worker did in the run's last session."""

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
        run.json; the configuration is apart.
    history : list of Round
    last_result : dict or None
        result.json as read_result returns it; it may be that of a session before the last.
    learned : dict
        The fields of the task after training, from the run's model; of its arrays only the labels.
    picture : (str, str) or None
        Title and SVG of the picture that the structure draws of the run's model.
    """

    path: Place
    run: dict[str, Any]
    config: TrainConfig
    history: list[Round]
    last_result: dict[str, Any] | None
    learned: dict[str, Any]
    picture: tuple[str, str] | None = None
    _columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of the rounds in the history; None if there is none (yet)."""
        result = self.last_result
        if result is None or not self.history:
            return None
        return result if result["n_rounds"] == self.history[-1].number else None

    @property
    def last(self) -> Round | None:
        return self.history[-1] if self.history else None

    def known(self, name: str) -> float | None:
        """C, eps or rel_gap as used; None where the run has not said, or has no such rule."""
        used = self.last_result or self.run.get("used") or {}
        value = used[name] if name in used else getattr(self.config, name)
        return None if value is None else float(value)

    def bound(self, name: str) -> float:
        """primal, dual or gap: the result's, else those of the last round; NaN before that."""
        if self.result is not None:
            return self.result[name]
        if self.last is None:
            return math.nan
        return float(getattr(self.last, "best_primal" if name == "primal" else name))

    def column(self, name: str) -> np.ndarray:
        """One field of every round as floats, None as NaN."""
        if name not in self._columns:
            values = [record.value(name) for record in self.history]
            self._columns[name] = np.array(values, dtype=float)
        return self._columns[name]

    @cached_property
    def fresh(self) -> np.ndarray:
        """Which rounds were fresh."""
        return np.array([record.kind == "fresh" for record in self.history], dtype=bool)

    @property
    def n_examples(self) -> int | None:
        """How many examples there are, where the run says so."""
        n = self.run.get("used", {}).get("n_examples")
        return n if isinstance(n, int) and n > 0 else None

    def seconds(self) -> dict[str, float]:
        """Seconds by phase; without a result, loading is not told apart from the rest."""
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
        """Seconds until the first round could begin; 0 where nobody recorded them."""
        if self.result is None or self.resumed:
            return 0.0
        return self.result["seconds"].get("load", 0.0)

    def workers(self) -> list[WorkerShare]:
        """Each worker's busy time and its share of the last session."""
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
        """When the last session began: workers' clocks start again when a run is resumed."""
        start = 0.0
        for before, after in zip(self.history[:-1], self.history[1:], strict=True):
            if len(after.busy_s) != len(before.busy_s) or sum(after.busy_s) < sum(before.busy_s):
                start = before.elapsed_s
        return start


def read_run(run_dir: Where) -> RunView:
    """Read a run's folder; anything else is refused with a CheckpointError."""
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
    """The fields of a saved model's task; arrays other than the labels mean nothing to a reader."""
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
    """What the structure draws of the model; None where there is nothing, or it cannot be read."""
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
