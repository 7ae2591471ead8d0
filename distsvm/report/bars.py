"""Bars: time by phase, and the busy share of each worker."""

from __future__ import annotations

import math
from html import escape

from distsvm.report.axes import linear_axis, whole_axis
from distsvm.report.curves import HEIGHT, WIDTH
from distsvm.report.numbers import count, counted, percent, seconds, seconds_beside
from distsvm.report.plot import figure, frame
from distsvm.report.view import RunView, WorkerShare

PHASE_WORDS = {
    "load": "reading and scanning the data",
    "oracle": "asking for the most violated outputs",
    "cache": "scoring cached planes",
    "qp": "solving the dual QP",
    "cuts": "products and sums of cuts",
    "other": "checkpoints, validation, the rest",
    "load and other": "all else, so far",
}
NARROWEST = 0.13  # share of the bar that has room for a name, also on a phone
MOST_ROWS = 16


def phases(view: RunView) -> str:
    """Return time by phase as one bar and a table."""
    spent = {k: v for k, v in view.seconds().items() if math.isfinite(v) and v >= 0}
    total = sum(spent.values())
    if not total > 0:
        return ""
    parts, rows, left = [], [], 0.0
    for name, value in spent.items():
        # Phases of other versions look like `other`.
        share, tone = value / total, name.split()[0] if name in PHASE_WORDS else "other"
        parts.append(_part(name, tone, left, share))
        rows.append(
            f'<tr><th scope="row"><span class="swatch {tone}"></span>{escape(name)}</th>'
            f'<td class="words">{escape(PHASE_WORDS.get(name, ""))}</td>'
            f"<td>{seconds_beside(value, total)}</td><td>{percent(share)}</td></tr>"
        )
        left += share
    largest = max(spent, key=lambda name: spent[name])
    body = (
        f'<svg class="bar" role="img" aria-label="Time by phase; {escape(largest)} took the most.">'
        f'{"".join(parts)}</svg><table class="numbers">{"".join(rows)}</table>'
    )
    words = f"{seconds(total)} of the driver's time in all."
    return figure("phases", "Time by phase", words, body)


def _part(name: str, tone: str, left: float, share: float) -> str:
    rect = f'<rect class="{tone}" x="{left:.3%}" width="{share:.3%}" height="100%"/>'
    if share < NARROWEST:
        return rect
    label = name if share > 2 * NARROWEST else (name.split() or [name])[0]
    return (
        f'{rect}<text class="on-{tone}" x="{left + share / 2:.3%}" y="50%">{escape(label)}</text>'
    )


def workers(view: RunView) -> str:
    """Return each worker's busy share: as rows up to MOST_ROWS workers, else as columns."""
    shares = [w for w in view.workers() if math.isfinite(w.share)]
    if not shares:
        return ""
    body = _rows(shares) if len(shares) <= MOST_ROWS else _columns(shares)
    n_restarts = view.last.n_restarts if view.last else 0
    mean = sum(w.share for w in shares) / len(shares)
    words = (
        f"Time inside shard calls as a share of the session; {percent(mean)} on average over "
        f"{counted(len(shares), 'worker')}, {counted(n_restarts, 'restart')}."
    )
    return figure("workers", "Busy share of the workers", words, body)


def _rows(shares: list[WorkerShare]) -> str:
    rows = []
    most = max(w.busy_s for w in shares)
    for w in shares:
        notes = [] if w.n_shards is None else [counted(w.n_shards, "shard")]
        if w.n_restarts:
            notes.append(counted(w.n_restarts, "restart"))
        rows.append(
            f'<tr><th scope="row">worker {count(w.worker)}</th><td class="gauge">'
            '<svg class="bar thin-bar" aria-hidden="true"><rect class="track" width="100%" '
            f'height="100%"/><rect class="oracle" width="{w.share:.2%}" height="100%"/></svg></td>'
            f"<td>{percent(w.share)}</td><td>{seconds_beside(w.busy_s, most)}</td>"
            f'<td class="words">{escape(", ".join(notes))}</td></tr>'
        )
    return f'<table class="numbers workers">{"".join(rows)}</table>'


def _columns(shares: list[WorkerShare]) -> str:
    n = len(shares)
    x_axis = whole_axis(-0.5, n - 0.5, "worker")
    y_axis = linear_axis(0.0, 100.0, "busy, in percent", round_ends=True)
    width = WIDTH / n
    drawn = "".join(
        f'<rect class="oracle" x="{(i + 0.1) * width:.2f}" width="{0.8 * width:.2f}" '
        f'y="{(1 - w.share) * HEIGHT:.1f}" height="{w.share * HEIGHT:.1f}"/>'
        for i, w in enumerate(shares)
    )
    low, high = min(w.share for w in shares), max(w.share for w in shares)
    alt = f"Busy share of {count(n)} workers, {percent(low)} to {percent(high)}."
    again = [w for w in shares if w.n_restarts]
    note = ""
    if again:
        some = again[:20]
        note = ", ".join(f"worker {count(w.worker)} {count(w.n_restarts or 0)}×" for w in some)
        note = f'<p class="note">Built again: {note}{" and others" if len(again) > 20 else ""}.</p>'
    return frame(x_axis, y_axis, drawn, "", None, alt) + note
