"""Curves as SVG paths, with a bounded number of points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from distsvm.report.axes import Axis

# A chart is WIDTH units wide, stretched to the width of the page, and HEIGHT pixels high.
WIDTH, HEIGHT = 1000, 200
COLUMNS = 250

Points = list[tuple[float, float]]


def thinned(x: np.ndarray, y: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
    """Return indices of points that draw the same curve: 4 a column (ends, lowest, highest).

    Parameters
    ----------
    x : array of shape (n,), not decreasing
    y : array of shape (n,), finite

    Returns
    -------
    int array of at most 4·columns indices, increasing
    """
    n = len(x)
    if n <= 4 * columns:
        return np.arange(n)
    span = x[-1] - x[0]
    place = (x - x[0]) / span if span > 0 else np.linspace(0, 1, n)
    column = np.minimum((place * columns).astype(int), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], n) - 1
    kept = [starts, ends]
    for best in (np.argmin, np.argmax):
        kept.append(np.array([s + best(y[s : e + 1]) for s, e in zip(starts, ends, strict=True)]))
    return np.unique(np.concatenate(kept))


def placed(x: np.ndarray, y: np.ndarray, x_axis: Axis, y_axis: Axis) -> list[Points]:
    """Return the stretches of a curve between its holes, in the chart's units, thinned."""
    across, up = x_axis.at(x), y_axis.at(y)
    good = np.isfinite(across) & np.isfinite(up)
    if np.count_nonzero(np.diff(good.astype(int))) > COLUMNS:
        # More holes than columns of the chart: draw over them.
        across, up, good = across[good], up[good], good[good]
    edges = np.flatnonzero(np.diff(good.astype(int), prepend=0, append=0))
    total = max(1, int(good.sum()))
    stretches = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        columns = max(1, COLUMNS * int(stop - start) // total)
        some = start + thinned(across[start:stop], up[start:stop], columns)
        stretches.append(
            [
                (round(float(a) * WIDTH, 1), round((1 - float(u)) * HEIGHT, 1))
                for a, u in zip(across[some], up[some], strict=True)
            ]
        )
    return stretches


def stepped(points: Points) -> Points:
    """Return the same curve as steps: each value lasts until the next."""
    steps = points[:1]
    for (_, before), (x, y) in pairwise(points):
        steps += [(x, before), (x, y)]
    return steps


def line_path(stretches: list[Points]) -> str:
    """Return the `d` of a line; with round line ends, a stretch of one point is a dot."""
    return "".join("M" + "L".join(map(_pair, points)) + "h0" for points in stretches)


def band_path(top: list[Points], bottom: list[Points]) -> str:
    """Return the `d` of the area between two curves, from the first point of `top`."""
    over = [point for points in top for point in points]
    if not over:
        return ""
    under = [point for points in bottom for point in points if point[0] >= over[0][0]]
    return "M" + "L".join(map(_pair, over + under[::-1])) + "Z" if under else ""


def _pair(point: tuple[float, float]) -> str:
    return f"{point[0]:g} {point[1]:g}"
