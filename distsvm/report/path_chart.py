"""The chart of a path of C as SVG: panels of loss, accuracy and oracle calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from distsvm.errors import ConfigError
from distsvm.report.axes import Axis, linear_axis, log_axis
from distsvm.report.numbers import count, number
from distsvm.report.style import hashed
from distsvm.storage import write_bytes
from distsvm.training.path_result import PathPoint, PathResult

WIDTH, LEFT, RIGHT, TOP = 720, 76, 24, 64
PANEL, BETWEEN, BOTTOM = 170, 58, 46
CAP = 4
STYLE = (
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;fill:#5a6472}"
    ".title{font-size:17px;font-weight:600;fill:#1b222c}.name{font-weight:600;fill:#1b222c}"
    ".page{fill:#fff}.grid{stroke:#e8ebef}.axis{stroke:#97a1ae}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round}.error{stroke-width:1.5}"
    ".a{stroke:#0a68ad}.b{stroke:#b8480b}.c{stroke:#08775a}"
    "circle.a{fill:#0a68ad}circle.b{fill:#b8480b}circle.c{fill:#08775a}circle.best{fill:#fff;"
    "stroke-width:3}.chosen{stroke:#5f6a78;stroke-width:1.5;stroke-dasharray:5 4}"
)

PAGE_STYLE = "body{margin:24px auto;max-width:960px}svg{width:100%;height:auto}"


@dataclass(frozen=True, eq=False)
class Panel:
    """One curve over C, with an error bar of ± error at every point that has an error."""

    name: str
    y: np.ndarray
    error: np.ndarray
    axis: Axis
    tone: str


def write_path_chart(result: PathResult, output: str | Path) -> Path:
    """Draw a path into a self-contained file: .svg, or .html around the same SVG."""
    path = checked_target(output)
    drawing = path_svg(result)
    if path.suffix.lower() == ".html":
        policy = f"default-src 'none'; style-src {hashed(STYLE)} {hashed(PAGE_STYLE)}"
        drawing = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            f"<title>path of C · distsvm</title><style>{PAGE_STYLE}</style></head>"
            f"<body>{drawing}</body></html>\n"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, drawing.encode(), private=False)
    return path


def checked_target(output: str | Path) -> Path:
    """Return the file as a path; refuse a folder and a name that is not .svg or .html."""
    path = Path(output)
    if path.suffix.lower() not in (".svg", ".html"):
        raise ConfigError(f"{output}: a plot is written to a file in .svg or .html")
    if path.is_dir():
        raise ConfigError(f"{output} is a folder, expected a file for the plot")
    return path


def path_svg(result: PathResult) -> str:
    """Return the SVG; a path without scores has no panels of loss and accuracy."""
    if not result.points:
        raise ConfigError("the path has no points to draw: it was interrupted before the first")
    C = np.array([point.C for point in result.points])
    x_axis = log_axis(float(C[0]), float(C[-1]), "C", n=8)
    panels = _panels(result.points)
    height = TOP + len(panels) * PANEL + (len(panels) - 1) * BETWEEN + BOTTOM
    words = f"{len(C)} values of C"
    if result.C is not None:
        words += f"; chosen by {result.chosen_by}: C = {number(result.C, 4)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(words)}"><style>{STYLE}</style>'
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        _text(LEFT, 28, words, "start", "title"),
    ]
    for k, panel in enumerate(panels):
        top = TOP + k * (PANEL + BETWEEN)
        parts.append(_panel(panel, x_axis, C, result.best, top))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, height - 8, "C, logarithmic", "middle"))
    return "".join([*parts, "</svg>\n"])


def _panels(points: Sequence[PathPoint]) -> list[Panel]:
    def column(name: str) -> np.ndarray:
        return np.array([math.nan if (v := getattr(p, name)) is None else v for p in points])

    none = np.full(len(points), math.nan)
    panels = []
    for name, field, error, tone in (
        ("mean validation loss", "validation_loss", column("loss_error"), "a"),
        ("validation accuracy", "validation_accuracy", column("accuracy_error"), "c"),
    ):
        y = column(field)
        if np.isfinite(y).all():
            spread = np.nan_to_num(error)
            low, high = float((y - spread).min()), float((y + spread).max())
            bars = f"{name}, ± standard error over folds" if np.isfinite(error).any() else name
            panels.append(Panel(bars, y, error, linear_axis(low, high, round_ends=True), tone))
    calls = column("n_oracle_calls")
    title = f"oracle calls of each value, {count(calls.sum())} in all"
    axis = linear_axis(0.0, float(calls.max()), round_ends=True)
    return [*panels, Panel(title, calls, none, axis, "b")]


def _panel(panel: Panel, x_axis: Axis, C: np.ndarray, best: int | None, top: float) -> str:
    def across(value: float) -> float:
        return LEFT + float(x_axis.at(value)) * (WIDTH - LEFT - RIGHT)

    def down(value: float) -> float:
        return top + (1 - float(panel.axis.at(value))) * PANEL

    bottom, right = top + PANEL, WIDTH - RIGHT
    parts = [_text(LEFT, top - 10, panel.name, "start", "name")]
    for tick, label in zip(panel.axis.ticks, panel.axis.labels, strict=True):
        parts.append(_line("grid", LEFT, down(tick), right, down(tick)))
        parts.append(_text(LEFT - 8, down(tick) + 4, label, "end"))
    for tick, label in zip(x_axis.ticks, x_axis.labels, strict=True):
        parts.append(_line("axis", across(tick), bottom, across(tick), bottom - 4))
        parts.append(_text(across(tick), bottom + 17, label, "middle"))
    parts.append(_line("axis", LEFT, bottom, right, bottom))
    if best is not None:
        parts.append(_line("chosen", across(C[best]), top, across(C[best]), bottom))
    for x, y, e in zip(C, panel.y, panel.error, strict=True):
        if math.isfinite(e):
            for x1, y1, x2, y2 in _bar(across(x), down(y - e), down(y + e)):
                parts.append(_line(f"error {panel.tone}", x1, y1, x2, y2))
    places = [(across(x), down(y)) for x, y in zip(C, panel.y, strict=True)]
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts.append(f'<path class="line {panel.tone}" d="{d}"/>')
    for i, (x, y) in enumerate(places):
        kind, r = ("best ", 5) if i == best else ("", 3)
        parts.append(
            f'<circle class="{kind}{panel.tone}" cx="{x:.1f}" cy="{y:.1f}" r="{r}">'
            f"<title>C = {number(C[i], 4)}: {number(panel.y[i], 4)}</title></circle>"
        )
    return "".join(parts)


def _bar(x: float, low: float, high: float) -> list[tuple[float, float, float, float]]:
    """Return the lines of an error bar: the stem and two caps."""
    caps = [(x - CAP, end, x + CAP, end) for end in (low, high)]
    return [(x, low, x, high), *caps]


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'
