"""Control characters, spelt out: labels, words and names may contain any."""

from __future__ import annotations

import re

_BREAKING = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # the direction of what follows
_UNPRINTABLE = "\ud800-\udfff"  # bytes of a file's name that are no UTF-8

CONTROL = re.compile(f"[{_BREAKING}{_TURNING}{_UNPRINTABLE}]")
BREAKING = re.compile(f"[{_BREAKING}]")
INSIDE_LINES = re.compile(f"(?![\n\t])[{_BREAKING}{_TURNING}{_UNPRINTABLE}]")
"""CONTROL without line breaks and tabs."""


def spelt(text: str, signs: re.Pattern[str] = CONTROL) -> str:
    """Return the text with these signs as \\x1b or \\u202e."""
    return signs.sub(_name, text)


def field(text: str) -> str:
    """Return a label or word in which only line breaks and other C0 and C1 signs are spelt out."""
    return spelt(text, BREAKING)


def _name(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
