"""Numbers, times and tables as text."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Sequence
from functools import partialmethod

from distsvm.cli.signs import spelt

MARK = secrets.token_hex(8)
"""Begins a style in text before `rendered`. It is random, so that no label contains it."""
STYLES = re.compile(rf"{MARK}([0-9;]+m)")


class Style:
    """Colours and weights of text; plain text if `on` is false.

    Styles are marks in the text. `rendered` replaces them by escape sequences.
    """

    def __init__(self, on: bool) -> None:
        self.on = on

    def coded(self, code: str, text: str) -> str:
        """Return the text with the style of this SGR code."""
        return f"{MARK}{code}m{text}{MARK}0m" if self.on and text else text

    dim = partialmethod(coded, "2")
    bold = partialmethod(coded, "1")
    good = partialmethod(coded, "32")
    bad = partialmethod(coded, "31")
    accent = partialmethod(coded, "36")


PLAIN = Style(False)
COLUMN = 11


def rendered(line: str) -> str:
    """Return a line with styles as escape sequences, and all other control characters spelt out."""
    return STYLES.sub("\x1b[\\1", spelt(line))


def visible(text: str) -> int:
    """Return the number of columns of a text, without its styles."""
    return len(STYLES.sub("", text))


def clipped(text: str, width: int) -> str:
    """Return the text in at most `width` columns; a text that is cut loses its styles."""
    if visible(text) <= width:
        return text
    return STYLES.sub("", text)[: max(0, width - 1)] + "…"


def count(n: int) -> str:
    """Return a count with a comma between thousands."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Return "1 round", "2 rounds" and so on."""
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"


def value(x: float) -> str:
    """Return a value with seven digits."""
    return f"{x:.7g}" if math.isfinite(x) else "?"


def small(x: float) -> str:
    """Return a value such as a gap with three digits."""
    return f"{x:.3g}" if math.isfinite(x) else "?"


def asked_for(eps: float | None, rel_gap: float | None) -> str:
    """Return the rules for the gap that a run has."""
    rules = [("eps", eps), ("rel_gap", rel_gap)]
    return " or ".join(f"{name} {small(x)}" for name, x in rules if x is not None) or "–"


def share(part: float, whole: float) -> str:
    """Return a part in per cent of the whole."""
    return f"{100 * part / whole:.0f} %" if whole > 0 else "–"


def seconds(s: float) -> str:
    """Return a duration: 3.21 s, 41 s, 3:07, 1:02:07."""
    if not math.isfinite(s):
        return "?"
    if s < 9.995:
        return f"{s:.2f} s"
    if s < 59.5:
        return f"{s:.0f} s"
    minutes, rest = divmod(round(s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def clock(s: float) -> str:
    """Return a duration for a live display: tenths up to 10 s, then whole seconds."""
    return f"{s:.1f} s" if s < 9.95 else seconds(s)


def size(n_bytes: int) -> str:
    """Return a number of bytes with a binary unit."""
    amount, unit = float(n_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def wrapped(words: Sequence[str], width: int, between: str = " ") -> list[str]:
    """Return the words in lines of at most `width` columns; a longer word has its own line."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]}{between}{word}" if lines[-1] else word
        if visible(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def pairs(rows: Sequence[tuple[str, str]], style: Style = PLAIN, width: int = 80) -> list[str]:
    """Return lines of names and aligned values; a row ("", "") is a blank line.

    Values begin behind the longest name, but at least at the same column as in other lists.
    """
    column = max((COLUMN, *(len(name) for name, _ in rows)))
    lines = []
    for name, text in rows:
        first, *rest = wrapped(spelt(text).split(" "), max(20, width - column - 4))
        lines.append(f"  {style.dim(name.ljust(column))}  {first}" if name or text else "")
        lines += [" " * (column + 4) + line for line in rest]
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style = PLAIN) -> list[str]:
    """Return a table with its first column aligned left, the others right."""
    head, *rows = [[spelt(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(w) for cell, w in zip(cells[1:], widths[1:], strict=True)]
        return "  " + "  ".join([first, *rest])

    return [style.dim(line(head)), *(line(row) for row in rows)]
