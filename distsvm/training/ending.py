"""The end of a run: its model, its certificate, and its cost."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.errors import TaskError, WorkerLost
from distsvm.messages import Score
from distsvm.model import Model
from distsvm.training.result import TrainResult
from distsvm.workers.support import SupportTable

if TYPE_CHECKING:
    from distsvm.training.run import Run

log = logging.getLogger(__name__)

FACTS = ("certificate", "primal", "dual", "gap", "stop_reason", "n_rounds", "C", "eps", "rel_gap")
"""The values of its result that a model keeps."""


def result_of(run: Run, reason: str) -> TrainResult:
    """Return the result of a run after its last round."""
    loaded, last, saving, facts = run.loaded, run.history[-1], run.saving, run.loaded.facts
    bounds = _bounds(run)
    w = _w(run, bounds)
    if not w.any():
        _warn_of_zero(run, bounds)
    result = TrainResult(
        model=Model(*run.risk.model(loaded.task, w)),
        certificate=bounds.certificate, primal=bounds.primal, dual=bounds.dual, gap=bounds.gap,
        stop_reason=reason, n_rounds=last.number, n_oracle_calls=last.n_oracle_calls,
        n_cache_hits=last.n_cache_hits, n_planes=last.n_planes,
        bound_on_rounds=run.bound_on_rounds(), seconds=_seconds(run),
        memory={
            "data": facts.data_bytes,
            "planes": facts.plane_bytes + run.state.held_bytes,
            "cuts": run.state.n_bytes,
        },
        history=run.history, C=run.C, eps=run.target.eps, rel_gap=run.target.rel_gap,
        activity=loaded.executor.activity(), n_examples=facts.n_examples,
        n_dropped=facts.n_dropped, best_validation=run.watch.best, notes=run.notes(),
        n_checkpoints=0 if saving is None else saving.n_written,
        checkpoint_bytes=0 if saving is None else saving.n_bytes,
        support_planes=_support(run),
    )  # fmt: skip
    result.model.facts.update({name: getattr(result, name) for name in FACTS})
    result.model.facts["rescaling"] = run.config.rescaling
    result.model.facts["penalty"] = run.config.penalty
    if result.certified_for:
        result.model.facts["certified_for"] = result.certified_for
    if loaded.data_notes is not None:
        result.model.facts["data"] = loaded.data_notes
    return result


def score_of(run: Run) -> Score:
    """Return the score of a run's model on its validation data."""
    return run.loaded.evaluate(run.risk.sent(_w(run, _bounds(run))))


def _w(run: Run, bounds: Bounds) -> np.ndarray:
    """Return the array of the model's point."""
    return run.risk.zero() if bounds.w is None else bounds.w


def _support(run: Run) -> SupportTable | None:
    """Return the planes with α > 0; what fails here at the very end costs only these."""
    try:
        return run.solver.support(run.risk, run.state)
    except (WorkerLost, TaskError) as error:  # the latter of outputs that have no form in JSON
        log.warning("the outputs with α > 0 cannot be told: %s", error)
        return None


def _bounds(run: Run) -> Bounds:
    """Return the bounds with the w of the model.

    Without a certified w, a compiled task gets w = 0: no loss is above the largest one, so P(0) is
    at most C times that. The largest loss of a user's own task is a claim: there w is that of the
    cuts so far.
    """
    task, bounds = run.loaded.task, run.watch.chosen(run.state.bounds)
    if bounds.w is not None:
        return bounds
    if task.compiled and run.config.penalty != "hard":
        half = 0.5 if run.config.penalty == "quadratic" else 1.0
        largest = half * run.C * task.largest_loss
        return replace(bounds, primal=largest, w=run.risk.zero(), exact=False)
    return replace(bounds, w=run.state.w)


def _warn_of_zero(run: Run, bounds: Bounds) -> None:
    """Warn that w = 0 predicts the same for everything."""
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


def _seconds(run: Run) -> dict[str, float]:
    phases = dict(run.state.clock.seconds)
    total, load_s = run.elapsed_s(), run.earlier_load_s + run.load_s
    if run.saving is not None:
        phases["checkpoints"] = run.saving.spent_s
    other = max(0.0, total - load_s - sum(phases.values()))
    return {"load": load_s, **phases, "other": other, "total": total}
