"""Charts by round: bounds, columns of the solver, calls and validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from distsvm.report.axes import Axis, linear_axis, log_axis, whole_axis
from distsvm.report.numbers import count, number, short_count, titled
from distsvm.report.plot import Curve, Readings, figure, plot
from distsvm.report.view import RunView
from distsvm.solvers.round import Column, shown_columns


def bounds(view: RunView) -> str:
    """Return the chart of primal and dual, with the gap between them filled."""
    primal, dual = map(view.column, ("best_primal", "dual"))
    width = view.last.gap if view.last else math.nan
    y_axis = _objective_axis(primal, dual)
    # A dual ≤ 0 has no logarithm: it is drawn below the chart.
    lower = np.maximum(dual, 1e-290) if y_axis.log else dual
    body = _by_round(
        view, y_axis,
        [("primal", primal, "a", "steps", _short(primal[-1])),
         ("dual", lower, "c", "line", _short(dual[-1]))],
        lambda i: f"primal {number(primal[i], 5)} · dual {number(dual[i], 5)}",
        f"Best primal and dual value by round; the gap at the end is {number(width)}.",
        band=len(view.history) > 1,
    )  # fmt: skip
    words = "The optimum lies between the best certified primal value and the dual value."
    return figure("bounds", "Primal and dual", words, body)


def own_columns(view: RunView) -> str:
    """Return a chart for each of the solver's own columns."""
    if view.last is None:
        return ""
    shown = [column for column in shown_columns(view.last) if not column.only_if_any]
    return "".join((_counts if column.support else _values)(view, column) for column in shown)


def _counts(view: RunView, column: Column) -> str:
    """Return the chart of a number of cuts or planes, and of those with α > 0."""
    counts, support = map(view.column, (column.name, column.support))
    what = column.label
    body = _by_round(
        view, whole_axis(0, counts.max(), what, round_ends=True),
        [("support", support, "a", "line", count(support[-1])),
         ("all", counts, "grey", "line", count(counts[-1]))],
        lambda i: f"{count(counts[i])} {what}, {count(support[i])} with α > 0",
        f"{count(counts[-1])} {what} at the end, {count(support[-1])} of them with α > 0.",
    )  # fmt: skip
    words = f"{titled(column.help)}, and those with α > 0, which make up w."
    return figure(what, titled(what), words, body)


def _values(view: RunView, column: Column) -> str:
    values = view.column(column.name)
    known = values[np.isfinite(values)]
    if not known.size:
        return ""
    last = column.text(view.history[-1])
    body = _by_round(
        view, linear_axis(float(known.min()), float(known.max()), column.label, round_ends=True),
        [(column.label, values, "a", "line", last)],
        lambda i: f"{column.label} {column.text(view.history[i])}",
        f"{column.label} by round; {last} at the end.",
    )  # fmt: skip
    return figure(column.name, titled(column.label), f"{titled(column.help)}.", body)


def calls(view: RunView) -> str:
    asked, hits = map(view.column, ("n_oracle_calls", "n_cache_hits"))
    curves = [("oracle", asked, "a", "line", short_count(asked[-1]))]
    words = "Oracle calls since the run began."
    if hits[-1] > 0:
        curves.append(("cache", hits, "b", "line", short_count(hits[-1])))
        words = "Examples answered by the oracle and from the cache since the run began."
    body = _by_round(
        view, whole_axis(0, float(max(asked[-1], hits[-1])), "examples", round_ends=True), curves,
        lambda i: f"oracle {count(asked[i])} · cache {count(hits[i])}",
        f"{count(asked[-1])} oracle calls and {count(hits[-1])} cache hits in all.",
    )  # fmt: skip
    kinds = [record.kind for record in view.history]
    parts = [f"{count(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    words = f"{words} Rounds: {', '.join(parts)}."
    return figure("calls", "Oracle calls and cache hits", words, body)


def validation(view: RunView) -> str:
    """Return the chart of the validation loss; empty without validation data."""
    loss, accuracy = map(view.column, ("validation_loss", "validation_accuracy"))
    known = np.flatnonzero(np.isfinite(loss))
    if not known.size:
        return ""
    best = int(known[np.argmin(loss[known])])

    def text(i: int) -> str:
        right = "" if math.isnan(accuracy[i]) else f", accuracy {accuracy[i]:.2%}"
        return f"loss {number(loss[i])}{right}"

    found = f"lowest in round {count(view.history[best].number)}: {text(best)}"
    marked = np.where(np.arange(len(loss)) == best, loss, math.nan)
    low, high = float(loss[known].min()), float(loss[known].max())
    body = _by_round(
        view, linear_axis(low, high, "mean loss", round_ends=True),
        [("lowest", marked, "b", "dots", number(loss[best])),
         ("loss", loss, "a", "steps", number(loss[known][-1]))],
        text, f"Validation loss by round, {found}.", rounds=known,
    )  # fmt: skip
    words = f"Mean loss of the best w so far on the validation data; {found}."
    return figure("validation", "Validation", words, body)


def _by_round(
    view: RunView,
    y_axis: Axis,
    curves: Sequence[tuple[str, np.ndarray, str, str, str]],
    text: Callable[[int], str],
    alt: str,
    *,
    band: bool = False,
    rounds: np.ndarray | None = None,
) -> str:
    """Return a chart against rounds; `text` words the values of a round, of all or of `rounds`."""
    number_of = view.column("number")
    chosen = np.arange(len(number_of)) if rounds is None else rounds

    def reading(i: int) -> str:
        record = view.history[chosen[i]]
        return f"round {count(record.number)} ({record.kind}) · {text(chosen[i])}"

    return plot(
        whole_axis(view.history[0].number, view.history[-1].number, "round"), y_axis,
        [Curve(name, number_of, y, tone, kind, value) for name, y, tone, kind, value in curves],
        band=band, readings=Readings(number_of[chosen], reading), alt=alt,
    )  # fmt: skip


def _objective_axis(primal: np.ndarray, dual: np.ndarray) -> Axis:
    values = np.concatenate([primal, dual])
    values = values[np.isfinite(values)]
    if not values.size:
        return linear_axis(0.0, 1.0, "objective", round_ends=True)
    high, end = float(values.max()), abs(float(dual[-1]))
    # Only a logarithm shows how the bounds meet if the end is far below the start.
    if 0 < end < high / 4:
        low = max(float(values[values > 0].min()), end / 100)
        return log_axis(low, high, "objective, logarithmic")
    return linear_axis(float(values.min()), high, "objective", round_ends=True)


def _short(value: float) -> str:
    return number(value, 4) if abs(value) < 1e4 else number(value, 3)
