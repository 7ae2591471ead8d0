"""Axes: what stretch of numbers a chart shows, where its ticks are and what they are called."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distsvm.report.numbers import fixed, number, power_of_ten
from distsvm.report.ticks import decimal, linear_ticks, log_ticks, step_of

# Doubles beyond these would overflow on the way to the page.
_LARGEST, _SMALLEST = 1e290, 1e-290
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Axis:
    """The numbers from lo to hi; `at` says how far along one of them is, 0 to 1."""

    lo: float
    hi: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    title: str = ""
    log: bool = False

    def at(self, values: np.ndarray | float) -> np.ndarray:
        """How far along: outside [0, 1] beyond the ends, NaN where there is no such place."""
        values = np.asarray(values, dtype=float)
        with np.errstate(all="ignore"):
            if self.log:
                place = np.log(values / self.lo) / math.log(self.hi / self.lo)
            else:
                place = (values - self.lo) / (self.hi - self.lo)
        # A stroke that leaves the chart may go a little way, not to infinity.
        return np.where(np.isfinite(values) & np.isfinite(place), np.clip(place, -1, 2), np.nan)


def linear_axis(lo: float, hi: float, title: str = "", *, n: int = 5, round_ends: bool) -> Axis:
    """A linear axis over [lo, hi]; `round_ends` moves the ends outwards to ticks."""
    lo, hi = _apart(lo, hi)
    if round_ends:
        m, e = step_of(lo, hi, n)
        step = decimal(m, e)
        lo = decimal(math.floor(lo / step + 1e-9) * m, e)
        hi = decimal(math.ceil(hi / step - 1e-9) * m, e)
    ticks = linear_ticks(lo, hi, n)
    return Axis(lo, hi, tuple(ticks), tuple(linear_labels(ticks)), title)


def whole_axis(lo: float, hi: float, title: str, *, round_ends: bool = False) -> Axis:
    """A linear axis of whole numbers: there is no round between two rounds."""
    if hi - lo < 1:
        lo, hi = lo - 0.5, lo + 0.5
    axis = linear_axis(lo, hi, title, round_ends=round_ends)
    ticks = [tick for tick in axis.ticks if tick == round(tick)]
    return replace(axis, ticks=tuple(ticks), labels=tuple(linear_labels(ticks)))


def log_axis(lo: float, hi: float, title: str = "", *, n: int = 6) -> Axis:
    """A logarithmic axis over [lo, hi], its ends moved outwards to 1, 2 or 5 of a decade."""
    lo, hi = (min(max(end, _SMALLEST), _LARGEST) for end in (lo, hi))
    if hi < 1.01 * lo:
        lo, hi = lo / 2, hi * 2
    low, high = math.floor(math.log10(lo)), math.floor(math.log10(hi))
    lo = max(v for m in (1, 2, 5) if (v := decimal(m, low)) <= lo * (1 + 1e-9))
    hi = min(v for m in (1, 2, 5, 10) if (v := decimal(m, high)) >= hi * (1 - 1e-9))
    ticks = log_ticks(lo, hi, n)
    return Axis(lo, hi, tuple(ticks), tuple(log_labels(ticks)), title, log=True)


def time_axis(seconds: float) -> tuple[Axis, float]:
    """An axis from 0 to so many seconds, and what its unit is in seconds."""
    units = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
    unit_s, name = next((u for u in units if seconds >= 2 * u[0]), units[-1])
    return linear_axis(0.0, seconds / unit_s, f"time in {name}", round_ends=False), unit_s


def linear_labels(ticks: list[float]) -> list[str]:
    """The ticks in one unit and with the same number of decimals: 0, 20k, 40k or 0.05, 0.10."""
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
    """Plain numbers where all of them are short, else powers of ten."""
    if all(1e-3 <= tick <= 1e4 for tick in ticks):
        return [number(tick, 4) for tick in ticks]
    return [_power(tick) for tick in ticks]


def _power(tick: float) -> str:
    mantissa, _, exponent = f"{tick:.3e}".partition("e")
    if float(mantissa) == 1:
        return power_of_ten(int(exponent))
    return f"{float(mantissa):g}×{power_of_ten(int(exponent))}"


def _apart(lo: float, hi: float) -> tuple[float, float]:
    """Two ends with room between them, also where all numbers are the same."""
    lo, hi = (min(max(end, -_LARGEST), _LARGEST) for end in (lo, hi))
    if hi - lo > max(1e-9 * max(abs(lo), abs(hi)), _SMALLEST):
        return lo, hi
    room = max(abs(lo), abs(hi)) / 10
    return (lo - room, lo + room) if room > _SMALLEST else (-1.0, 1.0)
