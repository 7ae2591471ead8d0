"""Where an axis has its ticks: at 1, 2, 5 times a power of ten, or at powers of ten."""

from __future__ import annotations

import math

# Beyond these, sums and differences of doubles overflow or lose their digits.
_LARGEST, _SMALLEST = 1e300, 1e-300


def linear_ticks(lo: float, hi: float, n: int = 5) -> list[float]:
    """Equally spaced round numbers in [lo, hi], at most n + 1 of them, increasing.

    There are at least two wherever hi − lo is more than rounding and n is 5 or more.
    """
    if not (-_LARGEST < lo < hi < _LARGEST and hi - lo > _SMALLEST and n >= 1):
        return []
    m, e = step_of(lo, hi, n)
    step, slack = decimal(m, e), 1e-9 * (hi - lo)
    first, last = math.ceil((lo - slack) / step), math.floor((hi + slack) / step)
    return sorted({decimal(k * m, e) for k in range(first, last + 1)})


def step_of(lo: float, hi: float, n: int) -> tuple[int, int]:
    """(m, e): the step m·10^e, m in (1, 2, 5), that cuts [lo, hi] into at most n parts."""
    raw = (hi - lo) / n
    e = math.floor(math.log10(raw))
    for m in (1, 2, 5):
        # Rounding must not turn a step that fits into the next larger one.
        if decimal(m, e) >= raw * (1 - 1e-9):
            return m, e
    return 1, e + 1


def log_ticks(lo: float, hi: float, n: int = 6) -> list[float]:
    """Powers of ten in [lo, hi], thinned to n ≥ 3; 1, 2, 5 times them where there are few."""
    if not (_SMALLEST < lo < hi < _LARGEST and n >= 3):
        return []
    exponents = range(math.floor(math.log10(lo)), math.ceil(math.log10(hi)) + 1)
    powers = [e for e in exponents if lo <= decimal(1, e) <= hi]
    if len(powers) > 2:
        stride = -(-len(powers) // n)
        return [decimal(1, e) for e in powers if e % stride == 0]
    fine = [value for e in exponents for m in (1, 2, 5) if lo <= (value := decimal(m, e)) <= hi]
    return fine if len(fine) > 1 else linear_ticks(lo, hi, max(5, n - 1))


def decimal(k: int, e: int) -> float:
    """k·10^e, rounded once."""
    return float(k * 10**e) if e >= 0 else k / 10**-e
