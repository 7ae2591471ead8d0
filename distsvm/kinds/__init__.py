"""Kinds of option values: what fits, how a shell's text or a TOML value becomes one, and back."""

from __future__ import annotations

from typing import Any

from distsvm.kinds.base import Kind, Or, Unfit
from distsvm.kinds.several import Listed, Several, Table, assignments
from distsvm.kinds.single import (
    Choice,
    Constant,
    Count,
    Number,
    PathText,
    Plain,
    Text,
    Truth,
    plain_label,
)

__all__ = [
    "Choice",
    "Constant",
    "Count",
    "Kind",
    "Listed",
    "Number",
    "Or",
    "PathText",
    "Plain",
    "Several",
    "Table",
    "Text",
    "Truth",
    "Unfit",
    "amounts",
    "assignments",
    "choice",
    "files",
    "local_folder",
    "names",
    "number",
    "path",
    "plain_label",
    "share",
    "text",
    "truth",
    "whole",
]


def number(
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    *,
    infinite: bool = False,
) -> Number:
    """Numbers of this range."""
    return Number(above=above, least=least, most=most, infinite=infinite)


def whole(least: float | None = None, most: float | None = None) -> Number:
    """Whole numbers of this range."""
    return Number(least=least, most=most, whole=True)


def choice(*choices: Any) -> Choice:
    """One of these."""
    return Choice(choices)


share = Number(above=0, most=1)
"""A number in (0, 1]."""
text = Kind()
path = PathText()
local_folder = PathText(local=True)
truth = Truth()
amounts = Table(Number(), "numbers")
"""NAME=NUMBER,… as a dict."""
names = Listed(Text(r"(?s).*\S.*"), "names", "names")
files = Several(PathText())
