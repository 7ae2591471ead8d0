"""Estimates of a run's progress towards its target gap, and of the time left."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST_POINTS = 5
MOST_POINTS = 40
LONGEST_S = 30 * 86400.0


def time_left(points: Sequence[tuple[float, float]], target: float) -> float | None:
    """Return seconds until the gap is `target`, by a line through log gap over recent rounds.

    Parameters
    ----------
    points : sequence of (seconds, gap)
        Of the fresh rounds so far, in order. The later half counts, of 5 to 40 rounds.
    target : float

    Returns
    -------
    float or None
        None without an estimate: too few rounds, a gap that does not fall, or a target of 0.
    """
    usable = [(s, math.log(gap)) for s, gap in points if 0 < gap < math.inf]
    if target <= 0 or len(usable) < LEAST_POINTS:
        return None
    recent = usable[-min(MOST_POINTS, max(LEAST_POINTS, len(usable) // 2)) :]
    slope = _least_squares_slope(recent)
    if slope is None or slope >= 0:
        return None
    # Start from the last gap, which is exact, not from the end of the line.
    left = (math.log(target) - recent[-1][1]) / slope
    return max(0.0, left) if left < LONGEST_S else None


def _least_squares_slope(points: Sequence[tuple[float, float]]) -> float | None:
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread <= 0:
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def way_done(first: float, gap: float, target: float) -> float | None:
    """Return the position of the gap between the first and the target, on a log scale in [0, 1]."""
    if not (0 < target < math.inf and 0 < first < math.inf):
        return None
    if gap <= target:
        return 1.0
    if first <= gap:
        return 0.0
    return math.log(first / gap) / math.log(first / target)
