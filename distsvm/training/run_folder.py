"""A run's folder: configuration, history, checkpoints, result and model."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from distsvm import checks
from distsvm.data.files import whole_path
from distsvm.data.opening import names_files
from distsvm.data.remembered import plain_options
from distsvm.errors import DAMAGE, CheckpointError, ConfigError, DistSVMError, StoreError
from distsvm.oracles.description import describe, rebuild
from distsvm.oracles.outputs import to_json
from distsvm.oracles.task import Task
from distsvm.solvers.round import Round
from distsvm.storage import (
    Place,
    Where,
    place,
    read_arrays,
    read_manifest,
    remove_folder,
    write_arrays,
    write_json,
)
from distsvm.stores import StorePath
from distsvm.training.checkpoint import checkpoints_home
from distsvm.training.config import TrainConfig
from distsvm.training.history import History, read_history, written_history
from distsvm.training.locks import check_lockable
from distsvm.training.result import TrainResult
from distsvm.training.run_state import FINISHED
from distsvm.training.session import Session
from distsvm.version import __version__
from distsvm.wording import Setting, message
from distsvm.workers.support import SupportTable

FORMAT = 1
SUPPORT = "support.npz"
WRITTEN = ("model", "run.json", "data.json", "state.json", "history.jsonl", "result.json", SUPPORT)
"""Files that the session alone writes, each under another name first."""

REMOVED = frozenset({"asynchronous"})
"""Options that earlier versions wrote to run.json."""


class RunFolder:
    """`run.json`, `data.json`, `history.jsonl`, `checkpoints/`, `result.json` and `model/`.

    A process that writes has a session, which locks the folder and writes `state.json`.
    """

    def __init__(self, path: Where) -> None:
        self.path = place(path)
        self._named = Setting("run_dir", str(self.path))
        self._session = Session(self.path)
        self._history: History | None = None

    def check_new(self) -> None:
        """Refuse a folder that cannot take a new run: an earlier run is never overwritten."""
        try:
            if (self.path / "run.json").exists():
                raise ConfigError(
                    message("{} has a run already; resume it, or take another folder", self._named)
                )
            checkpoints_home(self.path)
            check_lockable(self.path)
            self._check_writable()
        except StoreError as error:
            raise ConfigError(message("{} cannot be made: {}", self._named, error)) from error

    def check_shared(self, executor: str) -> None:
        """Refuse a folder that workers in other processes cannot reach."""
        if isinstance(self.path, StorePath) and self.path.in_memory:
            raise ConfigError(
                message(
                    "{}: memory:// is for executors serial and threads; workers of {} have their "
                    "own memory",
                    self._named,
                    executor,
                )
            )

    def _check_writable(self) -> None:
        if isinstance(self.path, StorePath):
            self.path.try_writing()
            return
        above = next(p for p in (self.path.absolute(), *self.path.absolute().parents) if p.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise ConfigError(
                message("{} cannot be made: {} is no folder to write in", self._named, above)
            )

    def create(
        self,
        config: TrainConfig,
        task: Task,
        *,
        data: Any,
        validation: Any,
        used: dict[str, Any],
        problem: dict[str, Any],
    ) -> None:
        """Begin a new run here.

        `used` has the values of the defaults (C, eps, n_examples and so on), `problem` what a
        resumed run must have in common with it.
        """
        self.lock()
        self.check_new()  # again: another process may have begun one meanwhile
        description, arrays = describe(task)
        description["fields"] |= {name: to_json(array) for name, array in arrays.items()}
        write_json(
            self.path / "run.json",
            {
                "kind": "distsvm run",
                "format": FORMAT,
                "version": __version__,
                "config": config.as_dict(),
                "task": description,
                "data": data,
                "validation": validation,
                "used": used,
                "problem": problem,
            },
        )

    def lock(self) -> None:
        """Lock the folder until `close`; refused while another process has the lock."""
        self._session.take()

    def read(self) -> dict[str, Any]:
        """Return run.json, with the configuration as a TrainConfig."""
        run = read_manifest(self.path / "run.json", "run", FORMAT, CheckpointError)
        try:
            for name in ("task", "used", "problem"):
                found = run[name] if name == "task" else run.get(name, {})
                if not isinstance(found, dict):
                    raise ValueError(f"{name} is {found!r:.40}")
            if not isinstance(run["task"].get("fields", {}), dict):
                raise ValueError(f"fields is {run['task']['fields']!r:.40}")
            used = run.get("used", {})
            for name in ("eps", "rel_gap", "n_examples", "n_dropped"):
                if used.get(name) is not None:
                    checks.number(name, used[name])
            C = used.get("C", 1.0)
            checks.number("C", C)
            if not C > 0:
                raise ValueError(f"C is {C!r}, expected a number > 0")
            for described in filter(None, (run.get("data"), run.get("validation"))):
                if not _names_paths(described["paths"], described["options"]):
                    raise ValueError(f"{described!r:.40} names no data")
            given = {name: own for name, own in run["config"].items() if name not in REMOVED}
            run["config"] = TrainConfig.from_dict(given)
        except DAMAGE as error:
            shown = error if isinstance(error, DistSVMError) else repr(error)
            raise CheckpointError(f"{self.path / 'run.json'} is damaged: {shown}") from error
        return run

    def task(self, task_class: type[Task] | None = None) -> Task:
        """Return the run's task, not yet prepared for the data."""
        described = self.read()["task"]
        try:
            return rebuild(described, {}, task_class)
        except DistSVMError:
            raise
        except DAMAGE as error:
            raise CheckpointError(f"{self.path / 'run.json'} is damaged: {error!r}") from error

    def history(self) -> list[Round]:
        """Return the rounds so far, without a last line that a crash cut short."""
        return read_history(self.path)

    def support(self) -> SupportTable | None:
        """Return the outputs with α > 0 at the end of the last session; None without such."""
        path = self.path / SUPPORT
        if not path.exists():
            return None
        try:
            return SupportTable.from_arrays(read_arrays(path, CheckpointError))
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"{path} is damaged: {error}") from error

    def keep_history(self, rounds: list[Round]) -> None:
        """Make `rounds` the whole history, to which later ones are appended."""
        self._session.begin()
        self._history = written_history(self.path, rounds)

    def append(self, record: Round) -> bool:
        """Add a round, and return whether the run is asked to stop."""
        self._session.check()
        assert self._history is not None
        self._history.append(record)
        return self._session.stop_asked

    def secure_history(self) -> None:
        """Write every missing round, which a checkpoint after them needs."""
        self._session.check()
        if isinstance(self.path, Path) and not self.path.is_dir():
            raise StoreError(f"{self.path}: the folder of the run is gone")
        if self._history is not None:
            self._history.secure()

    def finish(self, result: TrainResult) -> None:
        """Write result and model; if store or disk fails, to a folder that the error names."""
        try:
            self.secure_history()
            _write_end(self.path, result)
        except StoreError as error:
            try:
                kept = Path(tempfile.mkdtemp(prefix="distsvm-run-"))
                written_history(kept, result.history).close()
                _write_end(kept, result)
            except OSError as other:
                raise StoreError(
                    f"the end of the run can be written neither to its folder ({error}) nor to "
                    f"that for temporary files ({other})"
                ) from error
            raise StoreError(
                f"the end of the run cannot be written; its model is in {kept / 'model'}, with "
                f"result and history beside it. {error}"
            ) from error
        if isinstance(self.path, Path):
            for name in WRITTEN:
                for end in ("part", "old"):
                    for left in self.path.glob(f".{name}-*.{end}"):  # by a killed driver
                        remove_folder(left)
        state = "finished" if result.stop_reason in FINISHED else "stopped"
        self._session.note(state=state, stop_reason=result.stop_reason)

    def fail(self, error: BaseException) -> None:
        """Note the reason why there is no result."""
        self._session.fail(error)
        if self._session.locked:
            with suppress(CheckpointError):
                self.secure_history()

    def close(self) -> None:
        self._session.end()
        if self._history is not None:
            self._history.close()
            self._history = None


def _write_end(folder: Place, result: TrainResult) -> None:
    result.model.save(folder / "model")
    if result.support_planes is not None:
        write_arrays(folder / SUPPORT, result.support_planes.arrays())
    else:
        (folder / SUPPORT).unlink(missing_ok=True)  # of an earlier session
    write_json(folder / "result.json", result.summary())


def _names_paths(paths: Any, options: Any) -> bool:
    known = paths is None or (isinstance(paths, list) and all(isinstance(p, str) for p in paths))
    return known and isinstance(options, dict)


def described_data(data: Any, outputs: Any, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return how to find the data again; `paths` is None for data in memory and data sets."""
    if data is None:
        return None
    paths = None
    if names_files(data, outputs):
        given = [data] if isinstance(data, (str, os.PathLike)) else data
        paths = [whole_path(path) for path in given]
    return {"paths": paths, "options": plain_options(options)}
