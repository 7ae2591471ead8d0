"""Pictures of alignments and of scores: lines for a terminal, and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from distsvm.model import Model
from distsvm.structures.alignments.alignment import Alignment
from distsvm.structures.alignments.task import AlignmentTask

WIDTH = 60  # letters of a line, unless the screen is narrower
CELL, MARGIN = 16, 12  # of the SVG, in pixels


def draw_alignment(x: Any, y: Alignment, *, width: int | None = None) -> str:
    """Return the alignment as rows of letters, with the places of each row's first and last.

    Between the rows "|" stands for equal letters, ":" for a pair of others.
    """
    first, second = y.rows(x)
    if not first:
        return f"candidate {y.candidate}: nothing is aligned"
    n_digits = len(str(max(y.ends)))
    room = max(1, min(WIDTH, WIDTH if width is None else width - 2 * (n_digits + 1)))
    places = [y.start, y.candidate_start]
    lines = [f"candidate {y.candidate}"]
    for begin in range(0, len(first), room):
        rows = [row[begin : begin + room] for row in (first, second)]
        marks = "".join(_mark(*pair) for pair in zip(*rows, strict=True))
        drawn = []
        for side, row in enumerate(rows):
            start = places[side]
            places[side] += len(row) - row.count("-")
            drawn.append(f"{start + 1:>{n_digits}} {row} {places[side]}")
        lines += [drawn[0], f"{'':{n_digits}} {marks}".rstrip(), drawn[1], ""]
    return "\n".join(lines[:-1])


def _mark(a: str, b: str) -> str:
    return " " if "-" in (a, b) else "|" if a == b else ":"


def alignments_svg(found: Sequence[tuple[Any, Alignment]]) -> str:
    """Return alignments with their inputs, one below the other, as an SVG document."""
    lines = [draw_alignment(x, y).split("\n") for x, y in found]
    rows = [row for drawing in lines for row in [*drawing, ""]]
    width = 2 * MARGIN + 8.5 * max((len(row) for row in rows), default=1)
    height = 2 * MARGIN + CELL * len(rows)
    texts = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + CELL * (i + 1)}">{escape(row)}</text>'
        for i, row in enumerate(rows)
        if row
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" role="img" font-family="monospace" '
        f'font-size="14" fill="currentColor" xml:space="preserve">\n'
        f"<title>{len(lines)} alignments</title>\n{texts}\n</svg>\n"
    )


def picture(model: Model) -> tuple[str, str]:
    """Return title and SVG of the picture of a model in the report."""
    assert isinstance(model.task, AlignmentTask)
    return "Scores of pairs of letters", matrix_svg(model.task, model.w)


def matrix_svg(task: AlignmentTask, w: np.ndarray) -> str:
    """Return the scores of pairs as a table: red for scores above 0, blue below."""
    matrix, letters = task.matrix(w), task.letters
    most = float(np.abs(matrix).max()) or 1.0
    size = MARGIN + CELL * (len(letters) + 1)
    cells = []
    for i, row in enumerate(matrix.tolist()):
        for j, score in enumerate(row):
            colour = "#c23b22" if score > 0 else "#2b5fa8"
            cells.append(
                f'<rect x="{CELL * (j + 1)}" y="{CELL * (i + 1)}" width="{CELL}" height="{CELL}" '
                f'fill="{colour}" fill-opacity="{abs(score) / most:.3f}"><title>'
                f"{escape(letters[i])}, {escape(letters[j])}: {score:.4g}</title></rect>"
            )
    names = [
        f'<text x="{CELL * (k + 1.5)}" y="{CELL * 0.75}">{escape(letter)}</text>'
        f'<text x="{CELL * 0.5}" y="{CELL * (k + 1.75)}">{escape(letter)}</text>'
        for k, letter in enumerate(letters)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" '
        f'height="{size}" role="img" font-family="monospace" font-size="12" '
        'text-anchor="middle" fill="currentColor">\n'
        f"<title>Scores of pairs of letters, up to ±{most:.4g}</title>\n"
        + "\n".join([*names, *cells])
        + "\n</svg>\n"
    )
