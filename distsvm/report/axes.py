"""Axes: the range of a chart, its ticks and their labels.

Ticks are at 1, 2, 5 times a power of ten, or at powers of ten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distsvm.report.numbers import fixed, number, scientific

# Beyond the first pair, coordinates overflow; beyond the second, sums of ticks do.
_LARGEST, _SMALLEST = 1e290, 1e-290
_MOST, _LEAST = 1e300, 1e-300
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Axis:
    """The range from lo to hi; `at` maps its numbers to [0, 1]."""

    lo: float
    hi: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    title: str = ""
    log: bool = False

    def at(self, values: np.ndarray | float) -> np.ndarray:
        """Return positions: 0 at lo, 1 at hi, clipped to [-1, 2]; NaN for a value without one."""
        values = np.asarray(values, dtype=float)
        with np.errstate(all="ignore"):
            if self.log:
                place = np.log(values / self.lo) / math.log(self.hi / self.lo)
            else:
                place = (values - self.lo) / (self.hi - self.lo)
        return np.where(np.isfinite(values) & np.isfinite(place), np.clip(place, -1, 2), np.nan)


def linear_axis(lo: float, hi: float, title: str = "", *, n: int = 5, round_ends: bool) -> Axis:
    """Return a linear axis over [lo, hi]; `round_ends` moves the ends outwards to ticks."""
    lo, hi = _apart(lo, hi)
    if round_ends:
        m, e = step_of(lo, hi, n)
        step = decimal(m, e)
        lo = decimal(math.floor(lo / step + 1e-9) * m, e)
        hi = decimal(math.ceil(hi / step - 1e-9) * m, e)
    ticks = linear_ticks(lo, hi, n)
    return Axis(lo, hi, tuple(ticks), tuple(linear_labels(ticks)), title)


def whole_axis(lo: float, hi: float, title: str, *, round_ends: bool = False) -> Axis:
    """Return a linear axis with ticks at whole numbers only."""
    if hi - lo < 1:
        lo, hi = lo - 0.5, lo + 0.5
    axis = linear_axis(lo, hi, title, round_ends=round_ends)
    ticks = [tick for tick in axis.ticks if tick == round(tick)]
    return replace(axis, ticks=tuple(ticks), labels=tuple(linear_labels(ticks)))


def log_axis(lo: float, hi: float, title: str = "", *, n: int = 6) -> Axis:
    """Return a logarithmic axis over [lo, hi]; its ends move outwards to 1, 2 or 5 of a decade."""
    lo, hi = (min(max(end, _SMALLEST), _LARGEST) for end in (lo, hi))
    if hi < 1.01 * lo:
        lo, hi = lo / 2, hi * 2
    low, high = math.floor(math.log10(lo)), math.floor(math.log10(hi))
    lo = max(v for m in (1, 2, 5) if (v := decimal(m, low)) <= lo * (1 + 1e-9))
    hi = min(v for m in (1, 2, 5, 10) if (v := decimal(m, high)) >= hi * (1 - 1e-9))
    ticks = log_ticks(lo, hi, n)
    return Axis(lo, hi, tuple(ticks), tuple(log_labels(ticks)), title, log=True)


def time_axis(seconds: float) -> tuple[Axis, float]:
    """Return an axis from 0 to this time, and its unit in seconds."""
    units = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
    unit_s, name = next((u for u in units if seconds >= 2 * u[0]), units[-1])
    return linear_axis(0.0, seconds / unit_s, f"time in {name}", round_ends=False), unit_s


def linear_labels(ticks: list[float]) -> list[str]:
    """Return ticks in one unit with equal numbers of decimals: 0, 20k, 40k or 0.05, 0.10."""
    if len(ticks) < 2:
        return [number(tick, 4) for tick in ticks]
    largest, step = max(map(abs, ticks)), ticks[1] - ticks[0]
    if largest >= 1e12 or largest < 1e-3:
        digits = 1 + math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9)
        return [number(tick, max(1, digits)) for tick in ticks]
    unit, suffix = next(((u, s) for u, s in _UNITS if largest >= max(u, 1e4)), (1.0, ""))
    decimals = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    return ["0" if tick == 0 else fixed(tick / unit, decimals) + suffix for tick in ticks]


def log_labels(ticks: list[float]) -> list[str]:
    """Return plain numbers where all of them are short, else powers of ten."""
    if all(1e-3 <= tick <= 1e4 for tick in ticks):
        return [number(tick, 4) for tick in ticks]
    return [scientific(f"{tick:.3e}") for tick in ticks]


def _apart(lo: float, hi: float) -> tuple[float, float]:
    """Return ends that differ, also where all numbers are equal."""
    lo, hi = (min(max(end, -_LARGEST), _LARGEST) for end in (lo, hi))
    if hi - lo > max(1e-9 * max(abs(lo), abs(hi)), _SMALLEST):
        return lo, hi
    room = max(abs(lo), abs(hi)) / 10
    return (lo - room, lo + room) if room > _SMALLEST else (-1.0, 1.0)


def linear_ticks(lo: float, hi: float, n: int = 5) -> list[float]:
    """Return at most n + 1 equally spaced round numbers in [lo, hi], increasing.

    There are at least two if n ≥ 5 and hi − lo is larger than rounding.
    """
    if not (-_MOST < lo < hi < _MOST and hi - lo > _LEAST and n >= 1):
        return []
    m, e = step_of(lo, hi, n)
    step, slack = decimal(m, e), 1e-9 * (hi - lo)
    first, last = math.ceil((lo - slack) / step), math.floor((hi + slack) / step)
    return sorted({decimal(k * m, e) for k in range(first, last + 1)})


def step_of(lo: float, hi: float, n: int) -> tuple[int, int]:
    """Return (m, e), m in (1, 2, 5): steps of m·10^e cut [lo, hi] into at most n parts."""
    raw = (hi - lo) / n
    e = math.floor(math.log10(raw))
    for m in (1, 2, 5):
        # Rounding must not exclude a step that fits.
        if decimal(m, e) >= raw * (1 - 1e-9):
            return m, e
    return 1, e + 1


def log_ticks(lo: float, hi: float, n: int = 6) -> list[float]:
    """Return powers of ten in [lo, hi], thinned to n ≥ 3; 1, 2, 5 times them if they are few."""
    if not (_LEAST < lo < hi < _MOST and n >= 3):
        return []
    exponents = range(math.floor(math.log10(lo)), math.ceil(math.log10(hi)) + 1)
    powers = [e for e in exponents if lo <= decimal(1, e) <= hi]
    if len(powers) > 2:
        stride = -(-len(powers) // n)
        return [decimal(1, e) for e in powers if e % stride == 0]
    fine = [value for e in exponents for m in (1, 2, 5) if lo <= (value := decimal(m, e)) <= hi]
    return fine if len(fine) > 1 else linear_ticks(lo, hi, max(5, n - 1))


def decimal(k: int, e: int) -> float:
    """Return k·10^e, rounded once."""
    return float(k * 10**e) if e >= 0 else k / 10**-e
