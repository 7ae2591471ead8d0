"""A run's checkpoints: when one is due, what it contains, and how a run resumes from the last."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from distsvm import checks
from distsvm.errors import CheckpointError, StoreError
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.oracles.description import describe
from distsvm.oracles.outputs import canonical, digest
from distsvm.oracles.task import Task
from distsvm.risks.base import Risk
from distsvm.solvers.base import Solver
from distsvm.solvers.round import Round
from distsvm.solvers.state import State
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
"""Seconds that the checkpoints of a session may always take in all."""


def problem_of(
    task: Task, config: TrainConfig, solver: Solver, facts: Facts, check_fingerprint: str
) -> dict[str, Any]:
    """Return the identity of a run: prepared task, data and the fixed part of the configuration.

    `check_fingerprint` is that of the validation data.
    """
    description, arrays = describe(task)
    digests = {name: hashlib.blake2b(array.tobytes()).hexdigest() for name, array in arrays.items()}
    text = canonical([description, digests])
    # The solver that "auto" has chosen, as the choice depends on what is free to change; and its
    # own options alone.
    own = {"solver": solver.name} | asdict(solver.options)
    common = {name: value for name, value in asdict(config).items() if name != "solver_options"}
    return {
        "task": f"{description['task']}:{digest(text):x}",
        "data": f"{digest(facts.fingerprint):x}",
        "validation": f"{digest(check_fingerprint):x}",
        "config": {k: v for k, v in (common | own).items() if k not in TrainConfig.FREE},
    }


class Restored(NamedTuple):
    """A run as a checkpoint has it; `notes` name the planes that are missing."""

    state: State
    watch: Watch
    history: Sequence[Round] = ()
    elapsed_s: float = 0.0
    load_s: float = 0.0
    notes: Sequence[str] = ()


class Saving:
    """The checkpoints of the run in a folder; `problem` is the identity of the run.

    The executor's workers write and read the planes of these shards.
    """

    def __init__(
        self, folder: RunFolder, config: TrainConfig, problem: dict[str, Any], executor: Executor,
        shards: range,
    ) -> None:  # fmt: skip
        self.folder, self.config, self.problem = folder, config, problem
        self.executor, self.shards = executor, shards
        self.last: int | None = None
        """The last round before the newest checkpoint."""
        self.n_written, self.n_bytes, self.spent_s, self._last_s = 0, 0, 0.0, 0.0
        self._files: Files | None = None
        self._began_s = time.perf_counter()
        self.wait()

    def wait(self) -> None:
        """Count the seconds to the next checkpoint from now on."""
        self._since_s, self._wanted = time.perf_counter(), False

    def is_due(self, number: int) -> bool:
        """Return whether a checkpoint is due after round `number`.

        One that would take too much of the time is put off, and is due as soon as it fits.
        """
        now = time.perf_counter()
        self._wanted |= number % self.config.checkpoint_rounds == 0
        self._wanted |= now - self._since_s >= self.config.checkpoint_seconds
        return self._wanted and self.fits()

    def fits(self) -> bool:
        """Return whether another one like the last keeps within their share of the time."""
        share = self.config.checkpoint_share
        allowed_s = max(FREE_S, share * (time.perf_counter() - self._began_s))
        return share == 1 or self.spent_s + self._last_s <= allowed_s

    def write(
        self, state: State, watch: Watch, elapsed_s: float, load_s: float, planes: bool = True
    ) -> None:
        """Write a checkpoint: the solver's state, the workers' planes, and the validation's."""
        began_s = time.perf_counter()
        try:
            self.folder.secure_history()
            arrays = state.arrays()
            if watch.w is not None:
                arrays["validation_w"] = watch.w
            self.n_bytes, self._files = write_checkpoint(
                self.folder.path, number=state.number, problem=self.problem, elapsed_s=elapsed_s,
                seconds=state.clock.seconds, notes={"validation": watch.notes(), "load_s": load_s},
                arrays=arrays, executor=self.executor, shards=self.shards, planes=planes,
                keep=self.config.keep_checkpoints, earlier=self._files,
            )  # fmt: skip
            self.last = state.number
            self.n_written += 1
        finally:  # one that a store refuses has taken its time, too
            self._last_s = time.perf_counter() - began_s
            self.spent_s += self._last_s
            self.wait()

    def resume(self, manifest: DataManifest, solver: Solver, risk: Risk) -> Restored | None:
        """Restore the newest undamaged checkpoint; None before the first.

        The notes name newer ones that are damaged. If all are, the error is that of the newest.
        """
        path = self.folder.path
        manifest.check_digests(path)
        check_same_problem(path, self.folder.read().get("problem", {}), self.problem)
        refused: list[CheckpointError] = []
        for folder in reversed(checkpoint_folders(path)):
            try:
                found = self._restored(read_checkpoint(folder), solver, risk)
            except StoreError:
                raise  # the store may answer the next time
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

    def _restored(self, checkpoint: Checkpoint, solver: Solver, risk: Risk) -> Restored:
        """Restore the state of the solver and the planes of the workers."""
        check_same_problem(checkpoint.folder, checkpoint.problem, self.problem)
        if len(checkpoint.planes) != len(self.shards):
            raise CheckpointError(
                f"{checkpoint.folder} is damaged: it lists the planes of {len(checkpoint.planes)} "
                f"shards, the run has {len(self.shards)}"
            )
        notes = checkpoint.notes
        with checkpoint.restoring() as arrays:
            solver.State.check_vectors(arrays, risk.dim)
            best_w = arrays.pop("validation_w", None)
            if best_w is not None:
                checks.finite("validation_w", best_w, risk.dim)
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
