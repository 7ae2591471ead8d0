"""The summary at the end of a training run."""

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
    "max_rounds": "the limit of rounds (--max-rounds), before the target gap",
    "max_seconds": "the limit of time (--max-seconds), before the target gap",
    "validation": "the validation loss no longer falls (--patience)",
    "precision": "rounding allows no smaller gap",
    "own rule": "the rule of the method: no cut, or no sample, is violated by eps",
    "interrupted": "interrupted, before the target gap",
    "aborted": "ended by Ctrl-C, in the middle of a round",
}
CERTIFICATES = {
    "exact": "dual ≤ optimum ≤ primal",
    "upper bound": "dual ≤ optimum ≤ primal, where the primal is itself an upper bound",
    "estimate": "dual ≤ optimum; the primal is the upper end of a 95% confidence interval of P(w)",
    "none": "dual ≤ optimum, and no primal value is known",
}


def in_words(state: RunState) -> str:
    """Return the state of a run as a sentence."""
    age = f"{seconds(state.age_s)} ago"
    if state.state == "failed" and state.error is not None:
        return f"failed {age}: {state.error['message']}"
    if state.state == "lost":
        return f"lost: {state.where}, is gone; the last sign of it was {age}"
    if state.state == "running":
        return f"running: {state.where}; the last sign of it was {age}"
    return f"{state.state} {age}: {REASONS.get(state.stop_reason or '', state.stop_reason)}"


def hinge_loss(result: TrainResult) -> float:
    """Return R(w) of the model, or the mean of H²/2: of its round, else (primal − ½‖w‖²) / C."""
    for record in reversed(result.history):
        if record.primal == result.primal and record.risk is not None:
            return record.risk
    if "risk_high" in result.own:
        return result.own["risk_high"]
    w = result.model.w
    return (result.primal - 0.5 * float(w @ w)) / result.C


def own_rows(record: Round) -> list[tuple[str, str]]:
    """Return rows of the solver's own columns; cuts and planes with the number of α > 0."""
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
    """Write the summary and the places of model and run, and return the exit code.

    `task` is the value of --task, for the advice on how to resume.
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
        try:
            rows.append(("report", str(write_report(run_dir))))
        except (DistSVMError, OSError) as error:  # the run and its model are still good
            rows.append(("report", f"cannot be written: {error}"))
    output.say(*pairs(rows, output.style, output.width))
    if result.stop_reason in ("interrupted", "max_rounds", "max_seconds") and resumable:
        output.note(_how_to_resume(result, model, run_dir, task))
    return code


def about_rows(certified_for: str) -> list[tuple[str, str]]:
    """Return the row that says what the certificate is about, if that needs saying."""
    return [("", f"certified for {certified_for}")] if certified_for else []


def summary(result: TrainResult, compiled: bool, output: Output) -> list[str]:
    """Return certificate, effort and time as lines."""
    style = output.style
    reached = result.stop_reason in ("eps", "rel_gap")
    mark = style.good if reached else style.bold
    bound = result.bound_on_rounds
    theory = "" if bound is None else f" (the theory's bound: {bound:.2g})"
    hits = counted(result.n_cache_hits, "cache hit")
    relative = small(result.gap / abs(result.primal)) if result.primal else "–"
    squared = result.model.facts["penalty"] == "quadratic"
    mean = "the mean of H²/2" if squared else "the mean hinge loss R(w)"
    rows = [
        ("certificate", f"{style.bold(result.certificate)}: {CERTIFICATES[result.certificate]}"),
        *about_rows(result.certified_for),
        ("primal", style.bold(value(result.primal))),
        ("dual", style.bold(value(result.dual))),
        (
            "gap",
            f"{style.bold(small(result.gap))}; gap/C {small(result.gap / result.C)}, gap/primal "
            f"{relative}; asked for: {asked_for(result.eps, result.rel_gap)}",
        ),
        ("stopped", mark(REASONS[result.stop_reason])),
        ("", ""),
        ("rounds", f"{count(result.n_rounds)}{theory}"),
        ("oracle", f"{counted(result.n_oracle_calls, 'call')}, {hits}"),
        *own_rows(result.history[-1]),
        ("C", value(result.C)),
        ("train loss", f"≤ {small(hinge_loss(result))}, {mean}"),
    ]
    if result.n_dropped:
        left_out = f"{counted(result.n_dropped, 'example')} that the task does not allow (--unfit)"
        rows.append(("left out", left_out))
    if result.best_validation is not None:
        best = result.best_validation
        text = f"loss {small(best['loss'])}, accuracy {best['accuracy']:.4f}"
        rows.append(("validation", f"{text} after round {best['round']}, whose w is the model"))
    memory = ", ".join(f"{name} {size(n)}" for name, n in result.memory.items() if n)
    rows += [("time", _times(result.seconds, compiled)), ("memory", memory)]
    if result.n_checkpoints:
        last = f"{size(result.checkpoint_bytes)} the last of {count(result.n_checkpoints)}"
        rows.append(("checkpoints", last))
    return pairs(rows, style, output.width)


def _times(by_phase: dict[str, float], compiled: bool) -> str:
    total = by_phase["total"]
    parts = [f"{name} {share(s, total)}" for name, s in by_phase.items() if name != "total" and s]
    with_compiling = ", compiling included" if compiled else ""
    return f"{seconds(total)}: {', '.join(parts)}{with_compiling}"


def _how_to_resume(
    result: TrainResult, model: str | Path | None, run_dir: str | None, task: str | None
) -> str:
    word = "interrupted" if result.stop_reason == "interrupted" else "stopped"
    where = f"{word} after round {result.n_rounds}"
    if run_dir is None:
        how = "" if model is None else f"; --start {shlex.quote(str(model))} begins at its model"
        return f"{where}; without --run-dir it cannot be resumed{how}"
    limit = ["--max-rounds", "N"] if result.stop_reason == "max_rounds" else []
    return f"{where}; go on with: {command('resume', run_dir, *own_task(task), *limit)}"
