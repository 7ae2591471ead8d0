"""A run: rounds of a solver on data that workers have read, until a rule stops it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np

from distsvm.cuts.bounds import Target
from distsvm.errors import StoreError
from distsvm.risks import make_risk
from distsvm.risks.base import Risk
from distsvm.solvers.base import Solver
from distsvm.solvers.round import Round
from distsvm.solvers.state import State
from distsvm.training.callbacks import Callback, RunStart
from distsvm.training.config import TrainConfig
from distsvm.training.ending import result_of
from distsvm.training.loaded import EPS_SHARE, HARD_REL_GAP, Loaded
from distsvm.training.result import TrainResult
from distsvm.training.run_folder import described_data
from distsvm.training.saving import Restored, Saving
from distsvm.training.validation import Watch

log = logging.getLogger(__name__)


class Run:
    """Rounds at one C, from a state to a result.

    Parameters
    ----------
    started : float
        time.perf_counter() at the start of the session, before loading.
    start : array, optional
        The w of the first oracle calls.
    saving : Saving, optional
        The checkpoints, where the run has a folder.
    resume : bool
        Whether to resume from the newest checkpoint, if there is one.
    watching : bool
        Whether fresh rounds evaluate the validation data, which may end the run.
    """

    def __init__(
        self,
        config: TrainConfig,
        loaded: Loaded,
        C: float,
        callbacks: Sequence[Callback],
        *,
        started: float,
        start: np.ndarray | None = None,
        saving: Saving | None = None,
        resume: bool = False,
        watching: bool = True,
    ) -> None:
        self.config, self.loaded, self.C, self.callbacks = config, loaded, C, callbacks
        self.target = Target(config.eps, config.rel_gap)
        if config.eps is None and config.rel_gap is None:
            is_hard = config.penalty == "hard"
            share = EPS_SHARE * loaded.task.loss_unit
            self.target = Target(rel_gap=HARD_REL_GAP) if is_hard else Target(eps=share)
        made: Solver = loaded.solver
        problem = replace(
            made.problem, C=C, target=self.target, most_loss=loaded.task.largest_loss,
            square_radius=loaded.facts.square_radius,
        )  # fmt: skip
        self.solver: Solver = replace(made, problem=problem)
        self.risk: Risk = make_risk(self.solver.risk_kind(), loaded.workers())
        self.saving, self.watching = saving, watching
        self.started, self.load_s = started, loaded.load_s
        self.late, self._longest_s = False, 0.0
        found: Restored | None = None
        if resume and saving is not None:
            found = saving.resume(loaded.manifest, self.solver, self.risk)
        found = found or Restored(self.solver.begin(self.risk, start), Watch())
        self.state: State = found.state
        self.watch, self.history = found.watch, list(found.history)
        self._earlier_s, self.earlier_load_s = found.elapsed_s, found.load_s
        self._notes: list[str] = []
        self._coming = list(found.notes)  # notes for the next round's record
        if saving is not None:
            if not resume:
                self._create(saving)
            saving.folder.keep_history(self.history)
            if not resume and start is not None:
                self._save(saving)  # after a crash, only this has the start

    def _create(self, saving: Saving) -> None:
        given = self.loaded.given
        saving.folder.create(
            self.config, self.loaded.given_task,
            data=described_data(given.data, given.outputs, given.options),
            validation=described_data(given.validation, None, given.options),
            used=asdict(self.facts()), problem=saving.problem,
        )  # fmt: skip
        self.loaded.manifest.write(saving.folder.path)

    def follow(self, C: float) -> None:
        """Begin another run at this C from the end of the last one, without an oracle call."""
        factor = C / self.C
        self.started, self.load_s = time.perf_counter(), 0.0
        self.C, self.solver = C, self.solver.at(C)
        self.state = self.solver.follow(self.risk, self.state, factor)
        self.history, self._notes = [], []

    # --- rounds ----------------------------------------------------------------------------

    def run(self) -> TrainResult:
        """Make rounds until a rule stops the run, and return the result."""
        for callback in self.callbacks:
            callback.on_start(self.facts())
        if self.saving is not None:
            self.saving.wait()
        executor, loaded = self.loaded.executor, self.loaded
        if self.config.max_seconds is not None:
            left_s = self.config.max_seconds - self.session_s()
            shards = [*loaded.shards, *loaded.checks]
            executor.prepare("limit", time.time() + left_s, shards=shards)
        reason = None if not self.history else self._reason(self.history[-1], fresh_only=True)
        rounds = self.solver.rounds(self.risk, self.state)
        while reason is None:
            executor.adapt()
            forced = self.solver.is_forced(self.state)
            self._save_before(forced)
            began_s = time.perf_counter()
            record = self._finished(next(rounds))
            self._longest_s = max(self._longest_s, time.perf_counter() - began_s)
            self.history.append(record)
            asked_to_stop = self.saving is not None and self.saving.folder.append(record)
            asked = [callback.on_round(record) for callback in self.callbacks]
            reason = self._reason(record)
            if reason is None and (asked_to_stop or any(asked)):
                reason = "interrupted"
            if self.late:
                reason = reason or "max_seconds"
            if forced or self.late or self.saving is None:
                continue  # a resumed run makes this round again, as it would have been
            if reason or self.saving.is_due(record.number):
                self._try_to_save(self.saving, record.number, reason is not None)
        result = result_of(self, reason)
        if self.saving is not None:
            self.saving.folder.finish(result)
        for callback in self.callbacks:
            callback.on_end(result)
        return result

    def _finished(self, record: Round) -> Round:
        """Return the solver's record with the columns of the run."""
        self.late = self.state.late
        loaded = self.loaded
        if record.kind == "fresh" and loaded.checks and self.watching:
            in_time = self.watch.look(
                record.number, self.state.bounds, lambda w: loaded.look(self.risk.sent(w))
            )
            self.late = self.late or not in_time
        score = self.watch.score
        activity = loaded.executor.activity()
        notes = [*self._coming, *filter(None, [record.note]), *loaded.executor.notes()]
        self._notes, self._coming = self._notes + notes, []
        return replace(
            record,
            note="; ".join(notes) or None,
            elapsed_s=self.elapsed_s(),
            validation_loss=None if score is None else score.mean_loss,
            validation_accuracy=None if score is None else score.accuracy,
            busy_s=tuple(a.busy_s for a in activity),
            n_restarts=sum(a.n_restarts for a in activity),
        )

    def _reason(self, record: Round, fresh_only: bool = False) -> str | None:
        """Return the reason to stop now, or None. Only a fresh round certifies."""
        config = self.config
        if record.kind == "fresh":
            if reached := self.target.reached(self.C, record.gap, record.best_primal):
                return reached
            if self.state.stalled:
                return "precision"
            if self.watch.best is not None and self.watch.n_since >= config.patience:
                return "validation"
        if self.state.ended:
            return "own rule"
        if config.max_rounds is not None and record.number >= config.max_rounds:
            return "max_rounds"
        if fresh_only or config.max_seconds is None:
            return None
        return "max_seconds" if self.session_s() >= config.max_seconds else None

    # --- facts -----------------------------------------------------------------------------

    def notes(self) -> list[str]:
        """Return all notes of the session."""
        return [*self._notes, *self._coming]

    def session_s(self) -> float:
        """Return the seconds since the session began."""
        return time.perf_counter() - self.started

    def elapsed_s(self) -> float:
        """Return the seconds of the run, earlier sessions included."""
        return self._earlier_s + self.session_s()

    def bound_on_rounds(self) -> int | None:
        """Return the theory's bound, where it holds."""
        return self.solver.bound_on_rounds(
            self.risk.n_blocks, self.loaded.facts.square_radius, self.loaded.task.largest_loss
        )

    def facts(self) -> RunStart:
        """Return the facts that are known before the first round."""
        loaded, facts, executor = self.loaded, self.loaded.facts, self.loaded.executor
        return RunStart(
            n_examples=facts.n_examples, dim=self.risk.dim, n_shards=loaded.cut.n_shards,
            n_workers=executor.n_workers, executor=executor.name, C=self.C, eps=self.target.eps,
            rel_gap=self.target.rel_gap, max_rounds=self.config.max_rounds,
            bound_on_rounds=self.bound_on_rounds(), first_round=len(self.history) + 1,
            n_dropped=facts.n_dropped, n_blocks=len(loaded.cut.blocks),
        )  # fmt: skip

    # --- checkpoints -----------------------------------------------------------------------

    def _save(self, saving: Saving, planes: bool = True) -> None:
        load_s = self.earlier_load_s + self.load_s
        saving.write(self.state, self.watch, self.elapsed_s(), load_s, planes)

    def _try_to_save(self, saving: Saving, number: int, is_last: bool) -> None:
        """Write a checkpoint, the last one without planes if it does not fit with them.

        Where a store or a full disk refuses, a note says so and the run continues.
        """
        try:
            self._save(saving)
        except StoreError as error:
            what = "no checkpoint"
            if is_last:
                with suppress(StoreError):
                    self._save(saving, planes=False)
                    what = "a checkpoint without planes"
            self._coming.append(f"{what} after round {number}: {error}")
            log.warning("%s", self._coming[-1])

    def _save_before(self, forced: bool) -> None:
        """Write a checkpoint before a round that may not be one to resume from."""
        saving = self.saving
        if saving is None or saving.last == self.state.number or not self.state.number:
            return
        limit_s = self.config.max_seconds
        may_be_late = limit_s is not None and self.session_s() + self._longest_s > limit_s
        if forced or (may_be_late and saving.fits()):
            self._try_to_save(saving, self.state.number, is_last=True)
