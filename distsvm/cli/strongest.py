"""The weights that count most, and how they are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from distsvm.cli.output import Output
from distsvm.cli.signs import spelt

SIDES = ("for", "against")
HELD = "\u00a0"  # a blank at which no line is broken


def strongest(weights: np.ndarray, n: int, name: Callable[[int], Any]) -> list[tuple[Any, float]]:
    """The n largest weights above 0 with their names, largest first."""
    n = min(n, weights.size)
    if n <= 0:
        return []
    chosen = np.argpartition(-weights, n - 1)[:n]
    # Equal weights in the order of their numbers, so that equal models look equal.
    chosen = chosen[np.lexsort((chosen, -weights[chosen]))]
    return [(name(int(j)), float(weights[j])) for j in chosen if weights[j] > 0]


def both_sides(
    weights: np.ndarray, n: int, name: Callable[[int], Any]
) -> dict[str, list[tuple[Any, float]]]:
    """The n that speak most `for` something, and the n most `against` it, strongest first."""
    against = [(found, -weight) for found, weight in strongest(-weights, n, name)]
    return {"for": strongest(weights, n, name), "against": against}


def side_lines(found: dict[str, Any], title: str, note: str, output: Output) -> list[str]:
    """A title, and the weights of both sides below it."""
    style = output.style
    lines = [f"  {style.bold(title)}" + (f"  {style.dim(note)}" if note else "")]
    for side in SIDES:
        cells = [f"{spelt(str(name))} {weight:+.3g}" for name, weight in found[side]]
        wrapped = textwrap.wrap(
            "   ".join(cell.replace(" ", HELD) for cell in cells) or "–",
            output.width - 13, break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        first, *rest = wrapped
        lines.append(f"    {style.dim(side.ljust(7))}  {first}")
        lines += [" " * 13 + line for line in rest]
    return [line.replace(HELD, " ") for line in lines]


def listed(items: list[Any], most: int = 12) -> str:
    """Names with commas between them, the first few of many."""
    shown = ", ".join(str(item) for item in items[:most])
    return f"{shown}, … ({len(items)} in all)" if len(items) > most else shown


def times(loss: str, scale: float) -> str:
    """A loss with its scale."""
    return loss if scale == 1 else f"{loss} × {scale:g}"
