"""Charts by round: bounds, cuts, calls and validation, each with its words."""

from __future__ import annotations

import math

import numpy as np

from distsvm.report.axes import Axis, linear_axis, log_axis, whole_axis
from distsvm.report.numbers import count, number, short_count
from distsvm.report.plot import Curve, Readings, figure, plot
from distsvm.report.view import RunView
from distsvm.solvers.round import Column, shown_columns


def bounds(view: RunView) -> str:
    """Primal and dual by round, the gap between them filled."""
    number_of, primal, dual = map(view.column, ("number", "best_primal", "dual"))
    width = view.last.gap if view.last else math.nan
    y_axis = _objective_axis(primal, dual)
    # What has no logarithm lies below the chart.
    lower = np.maximum(dual, 1e-290) if y_axis.log else dual

    def text(i: int) -> str:
        return f"{_round(view, i)} · primal {number(primal[i], 5)} · dual {number(dual[i], 5)}"

    body = plot(
        _round_axis(view), y_axis,
        [Curve("primal", number_of, primal, "a", "steps", _short(primal[-1])),
         Curve("dual", number_of, lower, "c", "line", _short(dual[-1]))],
        band=len(view.history) > 1, readings=Readings(number_of, text),
        alt=f"Best primal and dual value by round; the gap at the end is {number(width)}.",
    )  # fmt: skip
    words = "The optimum lies between the best certified primal value and the dual value."
    return figure("bounds", "Primal and dual", words, body)


def own_columns(view: RunView) -> str:
    """The solver's own columns by round: what it has to work with, or a number of its own."""
    if view.last is None:
        return ""
    shown = [column for column in shown_columns(view.last) if not column.only_if_any]
    return "".join((_stock if column.support else _own)(view, column) for column in shown)


def _stock(view: RunView, column: Column) -> str:
    number_of, held, support = map(view.column, ("number", column.name, column.support))
    what = column.label

    def text(i: int) -> str:
        return f"{_round(view, i)} · {count(held[i])} {what}, {count(support[i])} with α > 0"

    body = plot(
        _round_axis(view), whole_axis(0, held.max(), what, round_ends=True),
        [Curve("support", number_of, support, "a", "line", count(support[-1])),
         Curve("all", number_of, held, "grey", "line", count(held[-1]))],
        readings=Readings(number_of, text),
        alt=f"{count(held[-1])} {what} at the end, {count(support[-1])} of them with α > 0.",
    )  # fmt: skip
    words = f"{column.help.capitalize()}, and those with α > 0, which make up w."
    return figure(what, what.capitalize(), words, body)


def _own(view: RunView, column: Column) -> str:
    number_of, values = view.column("number"), view.column(column.name)
    known = values[np.isfinite(values)]
    if not known.size:
        return ""

    def text(i: int) -> str:
        return f"{_round(view, i)} · {column.label} {column.text(view.history[i])}"

    last = column.text(view.history[-1])
    body = plot(
        _round_axis(view),
        linear_axis(float(known.min()), float(known.max()), column.label, round_ends=True),
        [Curve(column.label, number_of, values, "a", "line", last)],
        readings=Readings(number_of, text), alt=f"{column.label} by round; {last} at the end.",
    )  # fmt: skip
    return figure(column.name, column.label.capitalize(), f"{column.help.capitalize()}.", body)


def calls(view: RunView) -> str:
    number_of, asked, hits = map(view.column, ("number", "n_oracle_calls", "n_cache_hits"))
    curves = [Curve("oracle", number_of, asked, "a", "line", short_count(asked[-1]))]
    words = "Examples the oracle was asked about since the run began."
    if hits[-1] > 0:
        curves.append(Curve("cache", number_of, hits, "b", "line", short_count(hits[-1])))
        words = "Examples answered by the oracle and from the cache since the run began."

    def text(i: int) -> str:
        return f"{_round(view, i)} · oracle {count(asked[i])} · cache {count(hits[i])}"

    top = float(max(asked[-1], hits[-1]))
    body = plot(
        _round_axis(view), whole_axis(0, top, "examples", round_ends=True), curves,
        readings=Readings(number_of, text),
        alt=f"{count(asked[-1])} oracle calls and {count(hits[-1])} cache hits in all.",
    )  # fmt: skip
    return figure("calls", "Oracle calls and cache hits", f"{words} {_kinds(view)}", body)


def validation(view: RunView) -> str:
    """The validation curve; empty where there is no validation data."""
    loss = view.column("validation_loss")
    known = np.isfinite(loss)
    if not known.any():
        return ""
    number_of, accuracy = view.column("number"), view.column("validation_accuracy")
    best = int(np.flatnonzero(known)[np.argmin(loss[known])])

    def values(i: int) -> str:
        right = "" if math.isnan(accuracy[i]) else f", accuracy {accuracy[i]:.2%}"
        return f"loss {number(loss[i])}{right}"

    found = f"lowest in round {count(number_of[best])}: {values(best)}"
    rounds = np.flatnonzero(known)

    def text(i: int) -> str:
        return f"{_round(view, rounds[i])} · {values(rounds[i])}"

    marked = np.where(number_of == number_of[best], loss, math.nan)
    body = plot(
        _round_axis(view),
        linear_axis(float(loss[known].min()), float(loss[known].max()), "mean loss",
                    round_ends=True),
        [Curve("lowest", number_of, marked, "b", "dots", number(loss[best])),
         Curve("loss", number_of, loss, "a", "steps", number(loss[known][-1]))],
        readings=Readings(number_of[known], text),
        alt=f"Validation loss by round, {found}.",
    )  # fmt: skip
    words = f"Mean loss of the best w so far on the validation data; {found}."
    return figure("validation", "Validation", words, body)


def _objective_axis(primal: np.ndarray, dual: np.ndarray) -> Axis:
    values = np.concatenate([primal, dual])
    values = values[np.isfinite(values)]
    if not values.size:
        return linear_axis(0.0, 1.0, "objective", round_ends=True)
    high, end = float(values.max()), abs(float(dual[-1]))
    # Where the end is far below the start, only a logarithm shows how the two meet.
    if 0 < end < high / 4:
        low = max(float(values[values > 0].min()), end / 100)
        return log_axis(low, high, "objective, logarithmic")
    return linear_axis(float(values.min()), high, "objective", round_ends=True)


def _round_axis(view: RunView) -> Axis:
    return whole_axis(view.history[0].number, view.history[-1].number, "round")


def _round(view: RunView, i: int) -> str:
    record = view.history[i]
    return f"round {count(record.number)} ({record.kind})"


def _kinds(view: RunView) -> str:
    kinds = [record.kind for record in view.history]
    parts = [f"{count(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    return f"Rounds: {', '.join(parts)}."


def _short(value: float) -> str:
    return number(value, 4) if abs(value) < 1e4 else number(value, 3)
