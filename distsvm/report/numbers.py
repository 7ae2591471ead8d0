"""Numbers as people read them: rounded, with units, and never longer than they are worth."""

from __future__ import annotations

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The most digits of a double that mean anything after a sum over many examples.
_MOST_DIGITS = 12


def power_of_ten(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def number(value: float, digits: int = 3) -> str:
    """A number with that many significant digits, as 0.0123, 1,230 or 1.23×10⁻⁷."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value == 0:
        return "0"
    mantissa, _, exponent_text = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(exponent_text)
    if -4 < exponent < 6:
        return _plain(value, max(0, digits - 1 - exponent), strip=True)
    mantissa = _signed(_stripped(mantissa))
    if mantissa in ("1", "−1"):
        return mantissa[:-1] + power_of_ten(exponent)
    return f"{mantissa}×{power_of_ten(exponent)}"


def resolved(value: float, step: float) -> str:
    """A number to the decimal that a difference of `step` shows in, with two digits of it."""
    if not math.isfinite(value):
        return _not_finite(value)
    if not math.isfinite(step) or step <= 0 or value == 0:
        return number(value, 6)
    size = math.floor(math.log10(abs(value)))
    digits = min(max(2 + size - math.floor(math.log10(step)), 3), _MOST_DIGITS)
    if -4 < size < 6 + digits:
        return fixed(value, max(0, digits - 1 - size))
    return number(value, digits)


def fixed(value: float, decimals: int) -> str:
    """A number with exactly that many decimals, so that a column of them is aligned."""
    return _plain(value, decimals, strip=False)


def count(value: float) -> str:
    """A whole number, as 12,345 or 7.71×10⁹."""
    if not math.isfinite(value):
        return _not_finite(value)
    return f"{round(value):,}" if abs(value) < 1e9 else number(value)


def short_count(value: float) -> str:
    """A whole number in a few characters, as 12,345 or 1.23M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M")):
        if unit <= abs(value) < math.inf:
            return number(value / unit) + suffix
    return count(value)


def counted(value: float, noun: str) -> str:
    """A whole number and its noun, as 1 round or 12 rounds."""
    return f"{count(value)} {noun}" + ("" if value == 1 else "s")


def seconds(value: float) -> str:
    """A time, as 12 ms, 1.23 s, 3 min 20 s or 2 h 5 min."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value < 0.0995:
        return f"{number(value * 1000, 2)} ms"
    if value < 99.95:
        return f"{number(value, 3)} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(value / 60)
    return f"{count(minutes // 60)} h {minutes % 60} min"


def seconds_beside(value: float, total: float) -> str:
    """A time that is part of a total, with as many decimals as its fellows in a column."""
    if not 0 < total < 100:
        return seconds(value)
    return f"{fixed(value, max(1, 2 - math.floor(math.log10(total))))} s"


def percent(share: float) -> str:
    """A share, as 48%, 4.8% or <0.1%."""
    if not math.isfinite(share):
        return _not_finite(share)
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}%" if 0 < share < 0.0995 else f"{count(share * 100)}%"


def _plain(value: float, decimals: int, strip: bool) -> str:
    text = f"{value:,.{decimals}f}"
    return _signed(_stripped(text) if strip else text)


def _stripped(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _signed(text: str) -> str:
    if not text.strip("-0.,"):
        return text.lstrip("-")
    return text.replace("-", "−")


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "n/a"
    return "∞" if value > 0 else "−∞"
