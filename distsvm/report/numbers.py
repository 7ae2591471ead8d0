"""Numbers as text: rounded, with units."""

from __future__ import annotations

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_DIGITS = 12  # those of a sum over many examples that rounding leaves intact


def scientific(text: str) -> str:
    """Return 1.230e-07 as 1.23×10⁻⁷, and 1.00e-07 as 10⁻⁷."""
    mantissa, _, exponent = text.partition("e")
    mantissa = _signed(_stripped(mantissa))
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return mantissa[:-1] + power if mantissa in ("1", "−1") else f"{mantissa}×{power}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with that many significant digits: 0.0123, 1,230 or 1.23×10⁻⁷."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value == 0:
        return "0"
    text = f"{value:.{digits - 1}e}"
    exponent = int(text.partition("e")[2])
    if -4 < exponent < 6:
        return _signed(_stripped(f"{value:,.{max(0, digits - 1 - exponent)}f}"))
    return scientific(text)


def resolved(value: float, step: float) -> str:
    """Return a number to the second digit of a difference of `step`."""
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
    """Return a number with exactly that many decimals."""
    return _signed(f"{value:,.{decimals}f}")


def count(value: float) -> str:
    """Return a whole number: 12,345 or 7.71×10⁹."""
    if not math.isfinite(value):
        return _not_finite(value)
    return f"{round(value):,}" if abs(value) < 1e9 else number(value)


def short_count(value: float) -> str:
    """Return a whole number in a few characters: 12,345 or 1.23M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M")):
        if unit <= abs(value) < math.inf:
            return number(value / unit) + suffix
    return count(value)


def titled(text: str) -> str:
    """Return the text with a large first letter; letters of formulas, such as α, stay."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def counted(value: float, noun: str) -> str:
    """Return a whole number and its noun: 1 round or 12 rounds."""
    return f"{count(value)} {noun}" + ("" if value == 1 else "s")


def seconds(value: float) -> str:
    """Return a time: 12 ms, 1.23 s, 3 min 20 s or 2 h 5 min."""
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
    """Return a time in a column of times with this total, with equal numbers of decimals."""
    if not 0 < total < 100:
        return seconds(value)
    return f"{fixed(value, max(1, 2 - math.floor(math.log10(total))))} s"


def percent(share: float) -> str:
    """Return a share: 48%, 4.8% or <0.1%."""
    if not math.isfinite(share):
        return _not_finite(share)
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}%" if 0 < share < 0.0995 else f"{count(share * 100)}%"


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
