"""The page of all runs, and the one that lays several over one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from distsvm.cli.formatting import asked_for, seconds, small
from distsvm.report.axes import Axis, log_axis, time_axis, whole_axis
from distsvm.report.plot import Curve, figure, plot
from distsvm.report.view import RunView
from distsvm.service.pages.frame import heading, link, notice, table

HEAD = ("compare", "run", "state", "gap", "to the target", "round", "task", "trained", "last sign")
MOST_SHOWN = 200
TONES = ("a", "b", "c", "grey")


def runs_page(root: str, facts: Sequence[Mapping[str, Any]], n_runs: int) -> str:
    """Return the body of the page of runs."""
    return (
        heading("training service", "Runs")
        + f'<form method="get" action="{root}/compare"><div id="live" data-live="{root}/table">'
        + runs_table(root, facts, n_runs)
        + '</div><p class="actions"><button type="submit">Compare the marked runs</button></p>'
        "</form>"
    )


def runs_table(root: str, facts: Sequence[Mapping[str, Any]], n_runs: int) -> str:
    """Return the table of runs, the newest first."""
    if not facts:
        return (
            '<p class="note">There are no runs yet. '
            + link(root, "new", text="Begin one.")
            + "</p>"
        )
    more = f"; the newest {len(facts)} are shown" if n_runs > len(facts) else ""
    return table(HEAD, (_cells(root, one) for one in facts), f"{n_runs} runs{more}")


def _cells(root: str, one: Mapping[str, Any]) -> Iterable[str]:
    name, age = one["name"], one.get("age_s")
    waits = f" (number {one['waits']})" if one.get("waits") else ""
    number = one.get("round")
    yield (
        f'<input type="checkbox" name="run" value="{escape(name)}" '
        f'aria-label="compare {escape(name)}">' if number else ""
    )  # fmt: skip
    yield link(root, "runs", name)
    yield f'<span class="state {escape(one["state"])}">{escape(one["state"])}</span>{waits}'
    yield "–" if one.get("gap") is None else small(one["gap"])
    yield gap_bar(one)
    yield "–" if number is None else f"{number:,}"
    yield escape(str(one.get("task") or "–"))
    yield seconds(one["elapsed_s"]) if one.get("elapsed_s") is not None else "–"
    yield seconds(age) if age is not None and math.isfinite(age) else "–"


def gap_bar(one: Mapping[str, Any]) -> str:
    """Return how far the gap has come to its target, on a logarithmic scale from 10⁴ times it."""
    target, gap = target_of(one), one.get("gap")
    if target is None or gap is None or not target > 0:
        return "–"
    far = math.log10(max(gap / target, 1.0)) if math.isfinite(gap) else 4.0
    share = max(0.0, 1.0 - far / 4.0)
    asked = asked_for(one.get("eps"), one.get("rel_gap"))
    return (
        f'<progress max="1" value="{share:.3f}" aria-label="gap to its target">'
        f"{share:.0%}</progress> {escape(asked)}"
    )


def target_of(one: Mapping[str, Any]) -> float | None:
    """Return the gap that ends the run, C·eps or rel_gap·P; None where neither is known."""
    C, eps, rel, primal = (one.get(key) for key in ("C", "eps", "rel_gap", "primal"))
    found = [C * eps] if C and eps else []
    found += [rel * primal] if rel and primal and math.isfinite(primal) else []
    return max(found, default=None)


def compare_page(views: Sequence[tuple[str, RunView]], problems: Sequence[str]) -> str:
    """Return the body of the page that lays the gaps of some runs over one another."""
    body = heading("compare", " and ".join(name for name, _ in views) or "no runs")
    body += "".join(map(notice, problems))
    some = [(name, view) for name, view in views if view.last is not None]
    if not some:
        return body + '<p class="note">Mark runs that have rounds on the page of runs.</p>'
    last = [view.last for _, view in some if view.last is not None]
    times, unit_s = time_axis(max(one.elapsed_s for one in last))
    calls = whole_axis(0.0, float(max(one.n_oracle_calls for one in last)), "oracle calls")
    charts = [
        _overlay("time", "Gap against time", some, lambda v: v.column("elapsed_s") / unit_s, times),
        _overlay("calls", "Gap against oracle calls", some,
                 lambda v: v.column("n_oracle_calls"), calls),
    ]  # fmt: skip
    return body + f'<div class="columns">{"".join(charts)}</div>'


def _overlay(
    name: str,
    title: str,
    views: Sequence[tuple[str, RunView]],
    x_of: Callable[[RunView], np.ndarray],
    x_axis: Axis,
) -> str:
    gaps = [np.where(view.column("gap") > 0, view.column("gap"), np.nan) for _, view in views]
    lasts = [_last(gap) for gap in gaps]
    curves = [
        Curve(own, x_of(view), gap, TONES[i % len(TONES)], "steps", last)
        for i, ((own, view), gap, last) in enumerate(zip(views, gaps, lasts, strict=True))
    ]
    known = np.concatenate(gaps)
    known = known[np.isfinite(known)]
    low, high = (known.min(), known.max()) if known.size else (0.1, 10.0)
    y_axis = log_axis(float(low) / 1.3, float(high) * 1.1, "certified gap, logarithmic")
    text = "The certified gap of each run after each round; lower is nearer to the optimum."
    named = (f"{own}: {last}" for (own, _), last in zip(views, lasts, strict=True))
    alt = f"{title}; {'; '.join(named)}"
    return figure(name, title, text, plot(x_axis, y_axis, curves, alt=alt))


def _last(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return small(float(known[-1])) if known.size else "–"
