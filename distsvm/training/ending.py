"""The end of a run: its model, its certificate, and what it took."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.model import Model
from distsvm.training.result import TrainResult

if TYPE_CHECKING:
    from distsvm.training.run import Run

log = logging.getLogger(__name__)

FACTS = ("certificate", "primal", "dual", "gap", "stop_reason", "n_rounds", "C", "eps", "rel_gap")
"""What a model keeps of its result."""


@dataclass(frozen=True)
class Ending:
    """A run after its last round; `notes` are those of the session."""

    run: Run
    notes: list[str]

    def result(self, reason: str) -> TrainResult:
        """What the run gives back."""
        run, loaded, last = self.run, self.run.loaded, self.run.history[-1]
        bounds = self._bounds()
        w = np.zeros(loaded.task.dim) if bounds.w is None else bounds.w
        self._warn(bounds, w)
        saving, facts = run.saving, loaded.facts
        result = TrainResult(
            model=Model(loaded.task, w),
            certificate=bounds.certificate, primal=bounds.primal, dual=bounds.dual, gap=bounds.gap,
            stop_reason=reason, n_rounds=last.number, n_oracle_calls=last.n_oracle_calls,
            n_cache_hits=last.n_cache_hits, n_planes=last.n_planes,
            bound_on_rounds=run.bound_on_rounds(), seconds=self._seconds(), memory=self._memory(),
            history=run.history, C=run.C, eps=run.target.eps, rel_gap=run.target.rel_gap,
            activity=loaded.executor.activity(), n_examples=facts.n_examples,
            n_dropped=facts.n_dropped, best_validation=run.watch.best, notes=self.notes,
            n_checkpoints=0 if saving is None else saving.n_written,
            checkpoint_bytes=0 if saving is None else saving.n_bytes,
        )  # fmt: skip
        result.model.facts.update({name: getattr(result, name) for name in FACTS})
        result.model.facts["rescaling"] = run.config.rescaling
        if loaded.data_notes is not None:
            result.model.facts["data"] = loaded.data_notes
        return result

    def _bounds(self) -> Bounds:
        """The bounds with the w to return.

        Where the time was over before all examples were asked about any w, no loss is larger than
        the largest, so P(0) is known to be at most that; where the task is one's own, its largest
        loss is a claim, and w is what the cut so far gives.
        """
        run, task = self.run, self.run.loaded.task
        bounds = run.watch.chosen(run.state.bounds)
        if bounds.w is not None:
            return bounds
        if task.compiled:
            largest = run.C * task.largest_loss
            return replace(bounds, primal=largest, w=np.zeros(task.dim), exact=False)
        return replace(bounds, w=run.state.w)

    def _warn(self, bounds: Bounds, w: np.ndarray) -> None:
        """Say so where the model predicts the same for everything."""
        run = self.run
        if w.any():
            return
        if not run.target.reached(run.C, bounds.gap, bounds.primal):
            log.warning(
                "no w so far has a smaller primal value than w = 0, which predicts the same for "
                "everything; more rounds, or a smaller C, will help"
            )
        if bounds.primal == 0:
            log.warning(
                "w = 0 has the primal value 0, so no output has a loss or none was found: the "
                "model predicts the same for everything. %s",
                "Are all outputs equal?" if run.loaded.task.compiled else
                "Check the task's loss and separate with distsvm.testing.check_task",
            )  # fmt: skip

    def _seconds(self) -> dict[str, float]:
        run = self.run
        phases = dict(run.state.clock.seconds)
        total, load_s = run.elapsed_s(), run.earlier_load_s + run.load_s
        if run.saving is not None:
            phases["checkpoints"] = run.saving.spent_s
        other = max(0.0, total - load_s - sum(phases.values()))
        return {"load": load_s, **phases, "other": other, "total": total}

    def _memory(self) -> dict[str, int]:
        facts, state = self.run.loaded.facts, self.run.state
        return {
            "data": facts.data_bytes,
            "planes": facts.plane_bytes + state.held_bytes,
            "cuts": state.n_bytes,
        }
