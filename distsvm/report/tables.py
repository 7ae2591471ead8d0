"""Tables: the configuration, the task, the data and the versions."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from distsvm.report.numbers import count, number
from distsvm.report.view import SHORT, RunView
from distsvm.training.config import TrainConfig
from distsvm.version import __version__

LONGEST = 300
MOST_PATHS = 12

Row = tuple[str, str, str]


def configuration(view: RunView) -> str:
    """Return the table of all parameters: given ones first, then defaults, dimmed."""
    given, defaults, usual = [], [], TrainConfig().values()
    for name, value in view.config.values().items():
        if value == usual[name]:
            defaults.append((name, shown(value), _used(view, name)))
        else:
            given.append((name, shown(value), ""))
    note = "As the run began. Later sessions may differ in where they ran and when they stopped."
    return _table("Configuration", given, defaults, note if view.resumed else "")


def facts(view: RunView) -> str:
    """Return tables of task, data and versions."""
    return (
        _table("Task", _task(view))
        + _table("Data", _data(view))
        + _table("Versions", _versions(view))
    )


def shown(value: Any) -> str:
    """Return a JSON value as text of bounded length."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value, 6)
    if isinstance(value, dict):
        if set(value) == {"array", "dtype"}:
            return _array(value["array"])
        if len(value) == 1 and isinstance(inside := next(iter(value.values())), list):
            if "dict" in value:
                return _clipped(", ".join(f"{shown(k)}: {shown(v)}" for k, v in inside[:40]))
            return shown(inside)
        return _clipped(", ".join(f"{k}: {shown(v)}" for k, v in value.items()) or "none")
    if isinstance(value, list):
        return _clipped(", ".join(map(shown, value[:40])) or "none")
    return _clipped(str(value))


def _array(values: Any) -> str:
    shape, inner = [], values
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    if len(shape) == 1 and shape[0] <= SHORT:
        return shown(values)
    return "array of " + " × ".join(map(count, shape))


def _used(view: RunView, name: str) -> str:
    """Return the value that a default had, where the run has recorded it."""
    used = (view.last_result or {}).get(name) if name in ("C", "eps") else None
    if used is not None and not (name == "C" and view.config.C_per_example is not None):
        return f"used: {number(used, 6)}"
    if name == "n_workers" and (workers := view.workers()):
        return f"used: {count(len(workers))}"
    return ""


def _task(view: RunView) -> list[Row]:
    task = view.run.get("task") or {}
    rows = [("task", str(task.get("task", "unknown")), "")]
    for name, value in task.get("fields", {}).items():
        # run.json and the model describe arrays differently: only a field without a value in
        # run.json counts as learned.
        later = view.learned.get(name, value)
        if later is None and value is None:
            continue
        if value or later == value:
            rows.append((name, shown(value), ""))
        else:
            rows.append((name, shown(later), "learned from the data"))
    return rows


def _data(view: RunView) -> list[Row]:
    rows = [] if view.n_examples is None else [("examples", count(view.n_examples), "")]
    if n_dropped := view.run.get("used", {}).get("n_dropped"):
        rows.append(("left out", count(n_dropped), "outputs that the task does not allow"))
    seen = view.last is not None and view.last.validation_loss is not None
    rows += _source("training", view.run.get("data"), "given in memory")
    rows += _source("validation", view.run.get("validation"), "given in memory" if seen else "none")
    return rows


def _source(title: str, source: Any, otherwise: str) -> list[Row]:
    if not isinstance(source, dict) or not source.get("paths"):
        return [(title, otherwise, "")]
    paths = list(source["paths"])
    rows = [(title if i == 0 else "", str(path), "") for i, path in enumerate(paths[:MOST_PATHS])]
    if len(paths) > MOST_PATHS:
        rows.append(("", f"and {count(len(paths) - MOST_PATHS)} more", ""))
    return rows + [
        (name, shown(value), "") for name, value in (source.get("options") or {}).items()
    ]


def _versions(view: RunView) -> list[Row]:
    return [
        ("run", f"distsvm {view.run.get('version', 'unknown')}", ""),
        ("run folder", f"format {view.run.get('format', 'unknown')}", ""),
        ("report", f"distsvm {__version__}", ""),
    ]


def _table(title: str, rows: Iterable[Row], dimmed: Iterable[Row] = (), note: str = "") -> str:
    lines = [_row(row) for row in rows] + [_row(row, ' class="dim"') for row in dimmed]
    above = f'<p class="note">{escape(note)}</p>' if note else ""
    return (
        f'<section class="card"><h3>{escape(title)}</h3>{above}<table class="facts">'
        f"{''.join(lines)}</table></section>\n"
    )


def _row(row: Row, attributes: str = "") -> str:
    name, value, note = map(escape, row)
    note = f" <small>{note}</small>" if note else ""
    return f'<tr{attributes}><th scope="row">{name}</th><td>{value}{note}</td></tr>'


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
