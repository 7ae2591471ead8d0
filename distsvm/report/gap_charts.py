"""The gap and its target, against time and against oracle calls."""

from __future__ import annotations

import math

import numpy as np

from distsvm.report.axes import Axis, log_axis, time_axis, whole_axis
from distsvm.report.curves import HEIGHT, WIDTH
from distsvm.report.numbers import count, number, seconds
from distsvm.report.plot import Curve, Level, Readings, figure, plot
from distsvm.report.view import RunView

LOAD_SHARE = 0.03  # of the run's time, from which reading the data is shaded


def gap_against_time(view: RunView) -> str:
    elapsed = view.column("elapsed_s")
    total = float(np.nanmax(elapsed, initial=0.0))
    axis, unit_s = time_axis(total)
    load_s = min(view.load_s(), total)
    if load_s <= LOAD_SHARE * total:
        return _gap(view, "gap-time", "Gap against time", elapsed / unit_s, axis)
    shade = f'<rect class="loading" width="{load_s / total * WIDTH:.1f}" height="{HEIGHT}"/>'
    return _gap(view, "gap-time", "Gap against time", elapsed / unit_s, axis, shade)


def gap_against_calls(view: RunView) -> str:
    calls = view.column("n_oracle_calls")
    axis = whole_axis(0.0, float(calls[-1]), "oracle calls")
    return _gap(view, "gap-calls", "Gap against oracle calls", calls, axis)


def _gap(view: RunView, name: str, title: str, x: np.ndarray, x_axis: Axis, shade: str = "") -> str:
    fresh, gap = view.fresh, view.column("gap")
    certified = gap[fresh]
    # A gap of zero has no logarithm: it is drawn below the chart.
    curves = [Curve("gap", x[fresh], np.maximum(certified, 1e-290), "a", "steps",
                    _last(certified), dots=True)]  # fmt: skip
    C = view.known("C")
    violation = view.column("violation") * (math.nan if C is None else C)
    # Cached rounds make no calls: against calls, their points would coincide.
    shown = np.array([name == "gap-time" or r.kind != "cached" for r in view.history])
    if np.isfinite(violation).any():
        curves.append(Curve("violation", x[shown], violation[shown], "b", "thin", "× C"))
    levels = _targets(view)
    y_axis = _gap_axis(certified, violation[shown], [level.y for level in levels])

    def text(i: int) -> str:
        record = view.history[i]
        parts = [f"round {count(record.number)}", seconds(record.elapsed_s)]
        parts.append(f"gap {number(gap[i])}")
        if math.isfinite(violation[i]):
            parts.append(f"C·violation {number(violation[i])}")
        return " · ".join(parts)

    body = plot(
        x_axis, y_axis, curves, levels=levels, readings=Readings(x, text), extra=shade,
        alt=f"{title}, logarithmic; {_last(certified)} at the last fresh round.",
    )  # fmt: skip
    words = ["Certified gap (primal − dual), in steps at fresh rounds"]
    if len(curves) > 1:
        whose = "each round's cut" if shown.all() else "the oracle's cuts"
        words.append(f"thin: C × violation of {whose}")
    if levels:
        words.append(f"dashed: {' and '.join(_TARGETS[level.name] for level in levels)}")
    if shade:
        words.append("shaded: reading the data")
    if C is None:
        words.append("C is the default, which is recorded when the run ends")
    return figure(name, title, f"{'; '.join(words)}.", body)


_TARGETS = {"target": "the target C·eps", "rel_gap": "the target rel_gap × primal"}


def _targets(view: RunView) -> list[Level]:
    C, eps, rel_gap = view.known("C"), view.known("eps"), view.known("rel_gap")
    primal = view.bound("primal")
    levels = []
    if C is not None and eps is not None and C * eps > 0:
        levels.append(Level("target", C * eps, value=f"C·eps = {number(C * eps, 2)}"))
    if rel_gap and math.isfinite(primal) and primal != 0:
        target = rel_gap * abs(primal)
        levels.append(Level("rel_gap", target, value=f"× P = {number(target, 2)}"))
    return levels


def _gap_axis(gap: np.ndarray, violation: np.ndarray, levels: list[float]) -> Axis:
    """Return a logarithmic axis over gap and targets; violations widen it by at most a decade."""
    main = np.array([*gap, *levels])
    main = main[np.isfinite(main) & (main > 0)]
    thin = violation[np.isfinite(violation) & (violation > 0)]
    if not main.size:
        main = thin if thin.size else np.array([0.1, 10.0])
    low, high = float(main.min()), float(main.max())
    if thin.size:
        low = max(min(low, float(thin.min())), low / 10)
        high = min(max(high, float(thin.max())), high * 10)
    # Without room at the ends, a target could be mistaken for the axis.
    return log_axis(low / 1.3, high * 1.1, "objective, logarithmic")


def _last(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    return number(float(finite[-1]), 2) if finite.size else "n/a"
