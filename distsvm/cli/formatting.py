"""Numbers, times and tables as text for people."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Sequence

from distsvm.cli.signs import spelt

MARK = secrets.token_hex(8)
"""Begins a style in text that is not yet written; random, so that no label can hold it."""
STYLES = re.compile(rf"{MARK}([0-9;]+m)")


class Style:
    """Colours and weights of text; plain where they are off.

    Styles are marks until `rendered` makes escapes of them, and spells out all other escapes.
    """

    def __init__(self, on: bool) -> None:
        self.on = on

    def dim(self, text: str) -> str:
        return self._with("2", text)

    def bold(self, text: str) -> str:
        return self._with("1", text)

    def good(self, text: str) -> str:
        return self._with("32", text)

    def bad(self, text: str) -> str:
        return self._with("31", text)

    def accent(self, text: str) -> str:
        return self._with("36", text)

    def grey(self, shade: int, text: str) -> str:
        """On a background of the 256 colours."""
        return self._with(f"48;5;{shade}", text)

    def _with(self, code: str, text: str) -> str:
        return f"{MARK}{code}m{text}{MARK}0m" if self.on and text else text


PLAIN = Style(False)


def rendered(line: str) -> str:
    """A line as it is written: styles as escapes, all other control signs spelt out."""
    return STYLES.sub("\x1b[\\1", spelt(line))


def visible(text: str) -> int:
    """How many columns a text takes, styles not counted."""
    return len(STYLES.sub("", text))


def clipped(text: str, width: int) -> str:
    """The text in at most `width` columns; styles are dropped where it has to be cut."""
    if visible(text) <= width:
        return text
    return STYLES.sub("", text)[: max(0, width - 1)] + "…"


def count(n: int) -> str:
    """A count with thousands apart."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """ "1 round", "2 rounds"."""
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"


def value(x: float) -> str:
    """A value with seven digits."""
    return f"{x:.7g}" if math.isfinite(x) else "?"


def small(x: float) -> str:
    """A small value, such as a gap, with three digits."""
    return f"{x:.3g}" if math.isfinite(x) else "?"


def asked_for(eps: float | None, rel_gap: float | None) -> str:
    """The rules of the gap that a run has."""
    rules = [("eps", eps), ("rel_gap", rel_gap)]
    return " or ".join(f"{name} {small(x)}" for name, x in rules if x is not None) or "–"


def share(part: float, whole: float) -> str:
    """A part in per cent of the whole."""
    return f"{100 * part / whole:.0f} %" if whole > 0 else "–"


def seconds(s: float) -> str:
    """A duration: 3.21 s, 41 s, 3:07, 1:02:07."""
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
    """A duration that changes as one looks: whole seconds, tenths at first."""
    return f"{s:.1f} s" if s < 9.95 else seconds(s)


def size(n_bytes: int) -> str:
    """A number of bytes with a binary unit."""
    amount, unit = float(n_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at blanks where it can be."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if visible(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def pairs(
    rows: Sequence[tuple[str, str]], style: Style = PLAIN, width: int = 80, column: int = 11
) -> list[str]:
    """Lines of names and values, the values one below the other; a row ("", "") is a blank line.

    The values begin behind the longest name, or behind `column` if that is more.
    """
    column = max((column, *(len(name) for name, _ in rows)))
    lines = []
    for name, text in rows:
        first, *rest = wrapped(spelt(text), max(20, width - column - 4))
        lines.append(f"  {style.dim(name.ljust(column))}  {first}" if name or text else "")
        lines += [" " * (column + 4) + line for line in rest]
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style = PLAIN) -> list[str]:
    """A table whose first column is set left, the others right."""
    head, *rows = [[spelt(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(w) for cell, w in zip(cells[1:], widths[1:], strict=True)]
        return "  " + "  ".join([first, *rest])

    return [style.dim(line(head)), *(line(row) for row in rows)]
