"""The end of a training run in words."""

from __future__ import annotations

import shlex
from pathlib import Path

from distsvm.cli.exits import code_of_end
from distsvm.cli.formatting import (
    asked_for,
    count,
    counted,
    pairs,
    seconds,
    share,
    size,
    small,
    value,
)
from distsvm.cli.output import Output
from distsvm.errors import DistSVMError
from distsvm.report import write_report
from distsvm.solvers.round import Round, shown_columns
from distsvm.training.advice import command, own_task
from distsvm.training.result import TrainResult
from distsvm.training.run_state import RunState

REASONS = {
    "eps": "the gap is at most C·eps",
    "rel_gap": "the gap is small enough in relation to the primal (--rel-gap)",
    "max_rounds": "the limit of rounds (--max-rounds), before the wished gap",
    "max_seconds": "the limit of time (--max-seconds), before the wished gap",
    "validation": "the validation loss no longer falls (--patience)",
    "precision": "rounding allows no smaller gap",
    "interrupted": "interrupted, before the wished gap",
    "aborted": "broken off by Ctrl-C, in the middle of a round",
}
CERTIFICATES = {
    "exact": "dual ≤ optimum ≤ primal",
    "upper bound": "dual ≤ optimum ≤ primal, where the primal is itself an upper bound",
    "none": "dual ≤ optimum, and no primal value is known",
}


def in_words(state: RunState) -> str:
    """The state of a run as a sentence."""
    age = f"{seconds(state.age_s)} ago"
    if state.state == "failed" and state.error is not None:
        return f"failed {age}: {state.error['message']}"
    if state.state == "lost":
        return f"lost: {state.where}, is gone; the last sign of it was {age}"
    if state.state == "running":
        return f"running: {state.where}; the last sign of it was {age}"
    return f"{state.state} {age}: {REASONS.get(state.stop_reason or '', state.stop_reason)}"


def hinge_loss(result: TrainResult) -> float:
    """R(w) of the model: what its primal value leaves when ½‖w‖² is taken away, over C."""
    w = result.model.w
    return (result.primal - 0.5 * float(w @ w)) / result.C


def own_rows(record: Round) -> list[tuple[str, str]]:
    """The solver's own columns: what it has to work with, and how much of that counts."""
    rows = []
    for column in shown_columns(record):
        text = column.text(record)
        if column.support:
            text += f", of them {column.support_text(record)} support"
            text += f", in {size(record.plane_bytes)}" if record.plane_bytes else ""
        if column.only_if_any:
            text += f": {column.help}"
        rows.append((column.label, text))
    return rows


def finish(
    output: Output,
    result: TrainResult,
    compiled: bool,
    *,
    model: str | Path | None,
    run_dir: str | None,
    resumable: bool = True,
    task: str | None = None,
) -> int:
    """Say how the run ended and where its model is; returns the exit code.

    `task` is what --task was, for the advice.
    """
    code = code_of_end(result.stop_reason, result.eps, result.rel_gap)
    places = {"model": None if model is None else str(model), "run_dir": run_dir}
    extra = {"exit_code": code, "hinge_loss": hinge_loss(result)}
    output.record("result", result.summary() | places | extra)
    output.say(*summary(result, compiled, output))
    rows = []
    if model is not None:
        rows.append(("model", str(model)))
    if run_dir is not None:
        rows.append(("run", str(run_dir)))
        rows.append(("report", _reported(run_dir)))
    output.say(*pairs(rows, output.style, output.width))
    if result.stop_reason in ("interrupted", "max_rounds", "max_seconds") and resumable:
        output.note(_how_to_go_on(result, model, run_dir, task))
    return code


def _reported(run_dir: str) -> str:
    """Where the report of the run is; a run is not lost for a report that cannot be drawn."""
    try:
        return str(write_report(run_dir))
    except (DistSVMError, OSError) as error:
        return f"cannot be written: {error}"


def summary(result: TrainResult, compiled: bool, output: Output) -> list[str]:
    """Certificate, effort and time as lines."""
    style = output.style
    reached = result.stop_reason in ("eps", "rel_gap")
    mark = style.good if reached else style.bold
    bound = result.bound_on_rounds
    target = asked_for(result.eps, result.rel_gap)
    rows = [
        ("certificate", f"{style.bold(result.certificate)}: {CERTIFICATES[result.certificate]}"),
        ("primal", style.bold(value(result.primal))),
        ("dual", style.bold(value(result.dual))),
        (
            "gap",
            f"{style.bold(small(result.gap))}; gap/C {small(result.gap / result.C)}, gap/primal "
            f"{_ratio(result.gap, result.primal)}; asked for: {target}",
        ),
        ("stopped", mark(REASONS[result.stop_reason])),
        ("", ""),
        ("rounds", count(result.n_rounds) + _bound(bound)),
        ("oracle", f"{counted(result.n_oracle_calls, 'call')}, {_hits(result.n_cache_hits)}"),
        *own_rows(result.history[-1]),
        ("C", value(result.C)),
        ("train loss", f"≤ {small(hinge_loss(result))}, the mean hinge loss R(w)"),
    ]
    if result.n_dropped:
        left_out = f"{counted(result.n_dropped, 'example')} that the task does not allow (--unfit)"
        rows.append(("left out", left_out))
    if result.best_validation is not None:
        best = result.best_validation
        text = f"loss {small(best['loss'])}, accuracy {best['accuracy']:.4f}"
        rows.append(("validation", f"{text} after round {best['round']}, whose w is the model"))
    held = [f"{name} {size(n)}" for name, n in result.memory.items() if n]
    rows += [("time", _times(result.seconds, compiled)), ("memory", ", ".join(held))]
    if result.n_checkpoints:
        last = f"{size(result.checkpoint_bytes)} the last of {count(result.n_checkpoints)}"
        rows.append(("checkpoints", last))
    return pairs(rows, style, output.width)


def _ratio(gap: float, primal: float) -> str:
    return small(gap / abs(primal)) if primal else "–"


def _bound(bound: int | None) -> str:
    return "" if bound is None else f" (the theory's bound: {bound:.2g})"


def _hits(n_hits: int) -> str:
    return f"{counted(n_hits, 'cache hit')}"


def _times(by_phase: dict[str, float], compiled: bool) -> str:
    total = by_phase["total"]
    parts = [f"{name} {share(s, total)}" for name, s in by_phase.items() if name != "total" and s]
    with_compiling = ", compiling included" if compiled else ""
    return f"{seconds(total)}: {', '.join(parts)}{with_compiling}"


def _how_to_go_on(
    result: TrainResult, model: str | Path | None, run_dir: str | None, task: str | None
) -> str:
    word = {"interrupted": "interrupted"}.get(result.stop_reason, "stopped")
    where = f"{word} after round {result.n_rounds}"
    if run_dir is None:
        how = "" if model is None else f"; --start {shlex.quote(str(model))} begins at its model"
        return f"{where}; without --run-dir it cannot be resumed{how}"
    limit = ["--max-rounds", "N"] if result.stop_reason == "max_rounds" else []
    return f"{where}; go on with: {command('resume', run_dir, *own_task(task), *limit)}"
