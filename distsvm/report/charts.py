"""The charts of a run: what is drawn against what, and in which words."""

from __future__ import annotations

import math

import numpy as np

from distsvm.report.axes import Axis, linear_axis, log_axis, time_axis
from distsvm.report.numbers import count, counted, number, seconds
from distsvm.report.plot import Curve, Level, Readings, figure, plot
from distsvm.report.view import RunView


def gap_against_time(view: RunView) -> str:
    elapsed = view.column("elapsed_s")
    axis, unit_s = time_axis(float(elapsed[-1]))
    return _gap(view, "gap-time", "Gap against time", elapsed / unit_s, axis)


def gap_against_calls(view: RunView) -> str:
    calls = view.column("n_oracle_calls")
    axis = linear_axis(0.0, float(calls[-1]), "oracle calls", round_ends=False)
    return _gap(view, "gap-calls", "Gap against oracle calls", calls, axis)


def bounds(view: RunView) -> str:
    """Primal and dual by round, the gap between them filled."""
    number_of, primal, dual = map(view.column, ("number", "best_primal", "dual"))
    finite = np.concatenate([primal, dual])
    finite = finite[np.isfinite(finite)]
    low, high, end = finite.min(), finite.max(), abs(dual[-1])
    # Where the end is far below the start, only a logarithm shows how the two meet.
    if 0 < end < high / 4:
        positive = finite[finite > 0]
        y_axis = log_axis(max(positive.min(), end / 100), high, "objective, logarithmic")
    else:
        y_axis = linear_axis(low, high, "objective", round_ends=True)
    width = view.last.gap if view.last else math.nan

    def text(i: int) -> str:
        return f"{_round(view, i)} · primal {number(primal[i], 5)} · dual {number(dual[i], 5)}"

    body = plot(
        _round_axis(view), y_axis,
        [Curve("primal", number_of, primal, "a", "steps", _short(primal[-1])),
         Curve("dual", number_of, dual, "c", "line", _short(dual[-1]))],
        band=True, readings=Readings(number_of, text),
        alt=f"Best primal and dual value by round; the gap at the end is {number(width)}.",
    )  # fmt: skip
    words = "The optimum lies between the best certified primal value and the dual value."
    return figure("bounds", "Primal and dual", words, body)


def cuts(view: RunView) -> str:
    number_of, held, support = map(view.column, ("number", "n_cuts", "n_support_cuts"))

    def text(i: int) -> str:
        return f"{_round(view, i)} · {counted(held[i], 'cut')}, {count(support[i])} with α > 0"

    body = plot(
        _round_axis(view), linear_axis(0, held.max(), "cuts", round_ends=True),
        [Curve("support", number_of, support, "a", "line", count(support[-1])),
         Curve("all", number_of, held, "grey", "line", count(held[-1]))],
        readings=Readings(number_of, text),
        alt=f"{count(held[-1])} cuts at the end, {count(support[-1])} of them support cuts.",
    )  # fmt: skip
    words = "Cuts in the working set, and the support cuts (α > 0) that make up w."
    return figure("cuts", "Cuts", words, body)


def calls(view: RunView) -> str:
    number_of, asked, hits = map(view.column, ("number", "n_oracle_calls", "n_cache_hits"))
    curves = [Curve("oracle", number_of, asked, "a", "line", _short(asked[-1]))]
    words = "Examples the oracle was asked about since the run began."
    if hits[-1] > 0:
        curves.append(Curve("cache", number_of, hits, "b", "line", _short(hits[-1])))
        words = "Examples answered by the oracle and from the cache since the run began."

    def text(i: int) -> str:
        return f"{_round(view, i)} · oracle {count(asked[i])} · cache {count(hits[i])}"

    top = float(max(asked[-1], hits[-1]))
    body = plot(
        _round_axis(view), linear_axis(0, top, "examples", round_ends=True), curves,
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

    def text(i: int) -> str:
        right = "" if math.isnan(accuracy[i]) else f" · accuracy {accuracy[i]:.2%}"
        return f"{_round(view, i)} · loss {number(loss[i])}{right}"

    found = f"lowest in {text(best).replace(' · ', ': ', 1).replace(' · ', ', ')}"
    marked = np.where(number_of == number_of[best], loss, math.nan)
    body = plot(
        _round_axis(view),
        linear_axis(float(loss[known].min()), float(loss[known].max()), "mean loss",
                    round_ends=True),
        [Curve("lowest", number_of, marked, "b", "dots", number(loss[best])),
         Curve("loss", number_of, loss, "a", "steps", number(loss[known][-1]))],
        readings=Readings(number_of[known], lambda i: text(int(np.flatnonzero(known)[i]))),
        alt=f"Validation loss by round, {found}.",
    )  # fmt: skip
    words = f"Mean loss of the best w so far on the validation data; {found}."
    return figure("validation", "Validation", words, body)


def _gap(view: RunView, name: str, title: str, x: np.ndarray, x_axis: Axis) -> str:
    C, eps, fresh = view.known("C"), view.known("eps"), view.fresh
    gap = np.where(fresh, view.column("gap"), math.nan)
    curves = [Curve("gap", x[fresh], gap[fresh], "a", "steps", _last(gap), dots=True)]
    levels = []
    words = "Certified gap (primal − dual), in steps at fresh rounds"
    violation = np.full(len(gap), math.nan)
    if C is not None:
        violation = C * view.column("violation")
        curves.append(Curve("violation", x, violation, "b", "thin", _last(violation)))
        words += "; thin: C × violation of each round's cut"
        if eps is not None and C * eps > 0:
            levels.append(Level("target", C * eps, value=f"C·eps = {number(C * eps, 2)}"))
            words += "; dashed: the target C·eps"
    else:
        words += ". C is the default, which a run records when it ends"
    if view.config.rel_gap and math.isfinite(view.bound("primal")):
        target = view.config.rel_gap * abs(view.bound("primal"))
        levels.append(Level("relative", target, value=number(target, 2)))
        words += "; dashed: the relative gap asked for" if len(levels) == 1 else " and the relative"
    y_axis = _gap_axis(gap, violation, [level.y for level in levels])

    def text(i: int) -> str:
        parts = [_round(view, i), seconds(float(view.column("elapsed_s")[i]))]
        parts.append(f"gap {number(view.column('gap')[i])}")
        if math.isfinite(violation[i]):
            parts.append(f"violation {number(violation[i])}")
        return " · ".join(parts)

    body = plot(
        x_axis, y_axis, curves, levels=levels, readings=Readings(x, text),
        alt=f"{title}, logarithmic; {_last(gap)} at the last fresh round.",
    )  # fmt: skip
    return figure(name, title, f"{words}.", body)


def _gap_axis(gap: np.ndarray, violation: np.ndarray, levels: list[float]) -> Axis:
    """A logarithmic axis over gap and target; the violation may widen it by a decade each way."""
    main = np.array([*gap, *levels])
    main = main[np.isfinite(main) & (main > 0)]
    thin = violation[np.isfinite(violation) & (violation > 0)]
    if not main.size:
        main = thin
    if not main.size:
        return log_axis(0.1, 10.0, "objective, logarithmic")
    low, high = float(main.min()), float(main.max())
    if thin.size:
        low = max(min(low, float(thin.min())), low / 10)
        high = min(max(high, float(thin.max())), high * 10)
    return log_axis(low, high, "objective, logarithmic")


def _round_axis(view: RunView) -> Axis:
    numbers = view.column("number")
    axis = linear_axis(float(numbers[0]), float(numbers[-1]), "round", round_ends=False)
    # There is no round between two rounds.
    whole = [i for i, tick in enumerate(axis.ticks) if tick == int(tick)]
    return Axis(
        axis.lo, axis.hi, tuple(axis.ticks[i] for i in whole),
        tuple(axis.labels[i].removesuffix(".0") for i in whole), axis.title,
    )  # fmt: skip


def _round(view: RunView, i: int) -> str:
    record = view.history[i]
    return f"round {count(record.number)} ({record.kind})"


def _kinds(view: RunView) -> str:
    kinds = [record.kind for record in view.history]
    parts = [f"{count(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    return f"Rounds: {', '.join(parts)}."


def _last(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    return number(float(finite[-1]), 2) if finite.size else "n/a"


def _short(value: float) -> str:
    return number(value, 4) if abs(value) < 1e4 else number(value, 3)
