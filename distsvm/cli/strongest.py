"""The largest weights of a model, and their display."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distsvm.cli.formatting import wrapped
from distsvm.cli.output import Output
from distsvm.cli.signs import spelt

SIDES = ("for", "against")


def strongest(weights: np.ndarray, n: int, name: Callable[[int], Any]) -> list[tuple[Any, float]]:
    """Return the n largest weights above 0 with their names, largest first."""
    n = min(n, weights.size)
    if n <= 0:
        return []
    chosen = np.argpartition(-weights, n - 1)[:n]
    # Equal weights in the order of their indices, so that equal models have equal lists.
    chosen = chosen[np.lexsort((chosen, -weights[chosen]))]
    return [(name(int(j)), float(weights[j])) for j in chosen if weights[j] > 0]


def both_sides(
    weights: np.ndarray, n: int, name: Callable[[int], Any]
) -> dict[str, list[tuple[Any, float]]]:
    """Return the n largest weights above 0 as `for`, and the n smallest below 0 as `against`."""
    against = [(found, -weight) for found, weight in strongest(-weights, n, name)]
    return {"for": strongest(weights, n, name), "against": against}


def side_lines(found: dict[str, Any], title: str, note: str, output: Output) -> list[str]:
    """Return a title, and the weights of both sides below it."""
    style = output.style
    lines = [f"  {style.bold(title)}" + (f"  {style.dim(note)}" if note else "")]
    for side in SIDES:
        cells = [f"{spelt(str(name))} {weight:+.3g}" for name, weight in found[side]]
        first, *rest = wrapped(cells or ["–"], output.width - 13, between="   ")
        lines.append(f"    {style.dim(side.ljust(7))}  {first}")
        lines += [" " * 13 + line for line in rest]
    return lines


def listed(items: list[Any], most: int = 12) -> str:
    """Return names with commas between them; of many, only the first and their number."""
    shown = ", ".join(str(item) for item in items[:most])
    return f"{shown}, … ({len(items)} in all)" if len(items) > most else shown


def times(loss: str, scale: float) -> str:
    """Return a loss with its scale."""
    return loss if scale == 1 else f"{loss} × {scale:g}"
