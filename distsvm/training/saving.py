"""A run's checkpoints: when one is due, what it holds, and how the run goes on from the last."""

from __future__ import annotations

import hashlib
import logging
import time
from typing import Any, NamedTuple

from distsvm.errors import CheckpointError, StoreError
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.oracles.description import describe
from distsvm.oracles.outputs import canonical, digest
from distsvm.oracles.task import Task
from distsvm.solvers.base import Round, State
from distsvm.training.checkpoint import (
    Checkpoint,
    Files,
    check_same_problem,
    checkpoint_folders,
    read_checkpoint,
    write_checkpoint,
)
from distsvm.training.config import TrainConfig
from distsvm.training.data_manifest import DataManifest
from distsvm.training.run_folder import RunFolder
from distsvm.training.validation import Watch

log = logging.getLogger(__name__)

FREE_S = 1.0
"""Seconds that the checkpoints of a session may take in all, however short it is."""


def problem_of(
    task: Task, config: TrainConfig, solver: Any, cache_size: int, facts: Facts, checks: str
) -> dict[str, Any]:
    """What a checkpoint belongs to: task, data and the fixed part of the configuration.

    Parameters
    ----------
    task : Task
        As it was prepared for the data.
    checks : str
        The fingerprint of the validation data.
    """
    description, arrays = describe(task)
    digests = {name: hashlib.blake2b(array.tobytes()).hexdigest() for name, array in arrays.items()}
    text = canonical([description, digests])
    # What "auto" came to, which depends on what is free to change.
    planes = {"solver": type(solver).__name__, "cache_size": cache_size}
    return {
        "task": f"{description['task']}:{digest(text):x}",
        "data": f"{digest(facts.fingerprint):x}",
        "validation": f"{digest(checks):x}",
        "config": {
            k: v for k, v in (config.as_dict() | planes).items() if k not in TrainConfig.FREE
        },
    }


class Restored(NamedTuple):
    """A run as a checkpoint left it; `notes` say what is missing."""

    state: State
    watch: Watch
    history: list[Round]
    elapsed_s: float
    load_s: float
    notes: list[str]


class Saving:
    """The checkpoints of the run in a folder.

    Parameters
    ----------
    problem : dict
        What they belong to, as problem_of says it.
    executor : Executor
        Whose workers write and read the planes of these shards.
    """

    def __init__(
        self, folder: RunFolder, config: TrainConfig, problem: dict[str, Any], executor: Executor,
        shards: range,
    ) -> None:  # fmt: skip
        self.folder, self.config, self.problem = folder, config, problem
        self.executor, self.shards = executor, shards
        self.last: int | None = None
        """The round that the newest checkpoint was written after."""
        self.n_written, self.n_bytes, self.spent_s, self._last_s = 0, 0, 0.0, 0.0
        self._files: Files | None = None
        self._began_s = time.perf_counter()
        self.wait()

    def wait(self) -> None:
        """Count the seconds to the next checkpoint from now on."""
        self._since_s, self._wanted = time.perf_counter(), False

    def is_due(self, number: int) -> bool:
        """Whether a checkpoint is to be written after round `number`.

        One that is put off, as it would take too much of the time, is due as soon as it fits.
        """
        now = time.perf_counter()
        self._wanted |= number % self.config.checkpoint_rounds == 0
        self._wanted |= now - self._since_s >= self.config.checkpoint_seconds
        return self._wanted and self.fits()

    def fits(self) -> bool:
        """Whether another one as the last keeps to the share of the time that they may take."""
        share = self.config.checkpoint_share
        allowed_s = max(FREE_S, share * (time.perf_counter() - self._began_s))
        return share == 1 or self.spent_s + self._last_s <= allowed_s

    def write(
        self, state: State, watch: Watch, elapsed_s: float, load_s: float, planes: bool = True
    ) -> None:
        """Write a checkpoint: the solver's state, the workers' planes, and what validation said."""
        began_s = time.perf_counter()
        try:
            self._write(state, watch, elapsed_s, load_s, planes)
        finally:  # one that a store refuses has taken its time, too
            self._last_s = time.perf_counter() - began_s
            self.spent_s += self._last_s
            self.wait()

    def _write(
        self, state: State, watch: Watch, elapsed_s: float, load_s: float, planes: bool
    ) -> None:
        self.folder.secure_history()
        arrays = state.arrays()
        if watch.w is not None:
            arrays["validation_w"] = watch.w
        written = write_checkpoint(
            self.folder.path, number=state.number, problem=self.problem, elapsed_s=elapsed_s,
            seconds=state.clock.seconds, notes={"validation": watch.notes(), "load_s": load_s},
            arrays=arrays, executor=self.executor, shards=self.shards, planes=planes,
            keep=self.config.keep_checkpoints, earlier=self._files,
        )  # fmt: skip
        self.n_bytes, self._files = written
        self.last = state.number
        self.n_written += 1

    def resume(self, manifest: DataManifest, solver: Any, risk: Any) -> Restored | None:
        """Go on from the newest checkpoint that can be used; None before the first.

        An older one takes the place of one that is damaged, and the notes say so. If none can be
        used, the error is that of the newest.
        """
        path = self.folder.path
        manifest.check_digests(path)
        check_same_problem(path, self.folder.read().get("problem", {}), self.problem)
        refused: list[CheckpointError] = []
        for folder in reversed(checkpoint_folders(path)):
            try:
                found = self._restored(read_checkpoint(folder), solver, risk)
            except StoreError:
                raise  # it may be reached the next time
            except CheckpointError as error:
                refused.append(error)
                continue
            notes = [f"{error}; resumed from {folder.name} instead" for error in refused]
            for note in (*notes, *found.notes):
                log.warning("%s", note)
            return found._replace(notes=[*notes, *found.notes])
        if refused:
            raise refused[0]
        log.warning("%s has no checkpoint yet: starting from the beginning", path)
        return None

    def _restored(self, checkpoint: Checkpoint, solver: Any, risk: Any) -> Restored:
        """Give state and planes back to the solver and the workers."""
        check_same_problem(checkpoint.folder, checkpoint.problem, self.problem)
        if len(checkpoint.planes) != len(self.shards):
            raise CheckpointError(
                f"{checkpoint.folder} is damaged: it lists the planes of {len(checkpoint.planes)} "
                f"shards, the run has {len(self.shards)}"
            )
        notes = checkpoint.notes
        with checkpoint.believed(risk.dim) as arrays:
            best_w = arrays.pop("validation_w", None)
            state = solver.restore(risk, arrays)
            state.clock.seconds.update(checkpoint.seconds)
            elapsed_s, load_s = checkpoint.elapsed_s, notes["load_s"]
            watch = Watch.from_notes(notes["validation"], best_w, state.bounds.w)
        files, missing = checkpoint.plane_files(), []
        found = self.executor.run("load_planes", shards=self.shards, each=files)
        if not all(found):
            missing = [f"resumed without the planes of {found.count(False)} shards"]
        history = [record for record in self.folder.history() if record.number <= checkpoint.number]
        if len(history) != checkpoint.number:
            raise CheckpointError(
                f"{self.folder.path / 'history.jsonl'} has {len(history)} of the "
                f"{checkpoint.number} rounds before the checkpoint: it is damaged"
            )
        self.last = checkpoint.number
        return Restored(state, watch, history, elapsed_s, load_s, missing)
