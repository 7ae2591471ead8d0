"""One chart of curves: a stretched drawing, and labels of fixed size beside it.

Attributes of SVG place the labels, because the page's policy allows no style attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from distsvm.report.axes import Axis
from distsvm.report.curves import (
    HEIGHT,
    WIDTH,
    Points,
    band_path,
    line_path,
    placed,
    stepped,
)
from distsvm.storage import json_text

LABEL_HEIGHT, LINE_HEIGHT = 29, 14  # a label at the end of a curve has two lines
MOST_DOTS = 40
MOST_READINGS = 200


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through (x, y), labelled at its end; NaN makes a hole.

    Parameters
    ----------
    tone : "a", "b", "c" or "grey"
    kind : "line", "steps" (each value lasts until the next), "thin" or "dots"
    value : str
        The last value as text, under the name.
    dots : bool
        Mark the points if they are few.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    tone: str
    kind: str = "line"
    value: str = ""
    dots: bool = False


@dataclass(frozen=True)
class Level:
    """A dashed line at one height."""

    name: str
    y: float
    value: str


@dataclass(frozen=True, eq=False)
class Readings:
    """Texts that the chart shows under the pointer, by place on the x-axis."""

    x: np.ndarray
    text: Callable[[int], str]


def figure(name: str, title: str, text: str, body: str) -> str:
    """Return a chart with its title and a sentence on how to read it."""
    return (
        f'<figure class="card" id="{escape(name)}"><figcaption><h3>{escape(title)}</h3>'
        f"<p>{escape(text)}</p></figcaption>{body}</figure>\n"
    )


def plot(
    x_axis: Axis,
    y_axis: Axis,
    curves: Sequence[Curve],
    *,
    levels: Sequence[Level] = (),
    band: bool = False,
    readings: Readings | None = None,
    alt: str,
    extra: str = "",
) -> str:
    """Return the chart's HTML; `band` fills the area between the first two curves."""
    drawn = [_stretches(curve, x_axis, y_axis) for curve in curves]
    inside = [_grid(y_axis), extra]
    if band:
        inside.append(f'<path class="band" d="{band_path(drawn[0], drawn[1])}"/>')
    heights = [(level, y) for level in levels if (y := _height(y_axis, level.y)) is not None]
    inside += [f'<path class="level grey" d="M0 {y:g}H{WIDTH}"/>' for _, y in heights]
    # The first curve is the most important: it is drawn on top.
    for curve, stretches in reversed(list(zip(curves, drawn, strict=True))):
        if stretches:
            inside.append(
                f'<path class="{curve.kind} {curve.tone}" d="{line_path(stretches)}"/>'
                f"{_dots(curve, x_axis, y_axis)}"
            )
    ends = [
        (stretches[-1][-1][1], curve.tone, curve.name, curve.value)
        for curve, stretches in zip(curves, drawn, strict=True)
        if stretches
    ] + [(y, "grey", level.name, level.value) for level, y in heights]
    return frame(x_axis, y_axis, "".join(inside), _end_labels(ends), readings, alt)


def frame(
    x_axis: Axis, y_axis: Axis, inside: str, ends: str, readings: Readings | None, alt: str
) -> str:
    """Return axes, tick labels and titles around the drawing `inside`."""
    y_labels = "".join(
        f'<text x="100%" dx="-8" y="{1 - float(y_axis.at(tick)):.2%}">{escape(label)}</text>'
        for tick, label in zip(y_axis.ticks, y_axis.labels, strict=True)
    )
    x_labels = "".join(
        f'<text x="{float(x_axis.at(tick)):.2%}" y="12">{escape(label)}</text>'
        for tick, label in zip(x_axis.ticks, x_axis.labels, strict=True)
    )
    hover = "" if readings is None else f' data-readings="{_encoded(readings, x_axis)}"'
    return (
        f'<div class="plot"{hover}><div class="y-title">{escape(y_axis.title)}</div>'
        f'<svg class="y-labels">{y_labels}</svg>'
        f'<div class="area"><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{escape(alt)}">{inside}{_marks(x_axis)}</svg>'
        f'<div class="pointer" hidden></div></div><svg class="ends">{ends}</svg>'
        f'<svg class="x-labels">{x_labels}</svg>'
        f'<div class="x-title">{escape(x_axis.title)}</div></div>'
    )


def _stretches(curve: Curve, x_axis: Axis, y_axis: Axis) -> list[Points]:
    stretches = placed(curve.x, curve.y, x_axis, y_axis)
    if curve.kind != "steps":
        return stretches
    stretches = [stepped(points) for points in stretches]
    if stretches:  # the last value lasts to the end of the chart
        stretches[-1].append((WIDTH, stretches[-1][-1][1]))
    return stretches


def _dots(curve: Curve, x_axis: Axis, y_axis: Axis) -> str:
    """Return dots at the points of a curve with `dots`, if they are few; a lone point has one."""
    points = [p for stretch in placed(curve.x, curve.y, x_axis, y_axis) for p in stretch]
    if len(points) > (MOST_DOTS if curve.dots else 1):
        return ""
    return f'<path class="dots {curve.tone}" d="{line_path([[point] for point in points])}"/>'


def _grid(y_axis: Axis) -> str:
    lines = "".join(f"M0 {_height(y_axis, tick):g}H{WIDTH}" for tick in y_axis.ticks)
    return f'<path class="grid" d="{lines}"/>'


def _marks(x_axis: Axis) -> str:
    marks = "".join(f"M{float(x_axis.at(tick)) * WIDTH:.1f} {HEIGHT}v-4" for tick in x_axis.ticks)
    return f'<path class="axis" d="M0 {HEIGHT}H{WIDTH}{marks}"/>'


def _height(y_axis: Axis, value: float) -> float | None:
    place = float(y_axis.at(value))
    return None if math.isnan(place) else round((1 - place) * HEIGHT, 1)


def _end_labels(ends: Sequence[tuple[float, str, str, str]]) -> str:
    """Return labels beside the ends of curves, moved apart where they would overlap."""
    ends = sorted(ends, key=lambda end: end[0])
    tops = apart([end[0] for end in ends], LABEL_HEIGHT, HEIGHT)
    return "".join(
        f'<g class="{tone}"><text class="name" x="8" y="{top - LINE_HEIGHT / 2:.0f}">{escape(name)}'
        f'</text><text x="8" y="{top + LINE_HEIGHT / 2:.0f}">{escape(value)}</text></g>'
        for top, (_, tone, name, value) in zip(tops, ends, strict=True)
    )


def apart(wanted: Sequence[float], size: float, limit: float) -> list[float]:
    """Return centres near the wanted ones, `size` apart, within the limit if they all fit."""
    centres: list[float] = []
    for centre in wanted:
        lowest = centres[-1] + size if centres else size / 2
        centres.append(max(centre, lowest))
    highest = limit - size / 2
    for i in reversed(range(len(centres))):
        centres[i] = min(centres[i], highest)
        highest = centres[i] - size
    return centres


def _encoded(readings: Readings, x_axis: Axis) -> str:
    """Return some of the readings as JSON for an attribute: places in thousandths, and texts."""
    places = x_axis.at(readings.x)
    columns = np.nan_to_num(places * MOST_READINGS).astype(int)
    some = np.flatnonzero((np.diff(columns, append=-1) != 0) & np.isfinite(places))
    data = [[round(float(places[i]) * 1000), readings.text(int(i))] for i in some]
    return escape(json_text(data, ensure_ascii=False, separators=(",", ":")))
