"""Learned scores in the format of BLAST's matrices, as Biopython and parasail read them."""

from __future__ import annotations

import numpy as np

from distsvm.structures.alignments.task import AlignmentTask

LARGEST = 100
"""The largest score of a matrix of whole numbers."""


def matrix_text(task: AlignmentTask, w: np.ndarray, scale: float | None = None) -> str:
    """Return the scores of pairs as text in BLAST's format; gap scores stand in its comments.

    A row is a letter of native sequences, a column one of candidates.

    Parameters
    ----------
    scale : float, optional
        All scores are multiplied by it, and rounded to whole numbers, which parasail asks for.
        None: the largest becomes 100. 0: they are written as they are.
    """
    matrix, gaps = task.matrix(w), w[list(task.gap_features)]
    if scale is None:
        most = float(np.abs([*matrix.ravel(), *gaps]).max())
        scale = LARGEST / most if most > 0 else 1.0
    if scale:
        matrix, gaps = np.rint(matrix * scale), np.rint(gaps * scale)
    shown = "whole numbers: scores of w × " + f"{scale:.9g}, rounded" if scale else "scores of w"
    lines = [
        f"#  {shown}; {task.alignment} alignment",
        f"#  gaps: {gaps[0]:.9g} for the first letter, {gaps[1]:.9g} for each that follows",
    ]
    rows = [["", *task.letters]]
    for letter, scores in zip(task.letters, matrix.tolist(), strict=True):
        rows.append([letter, *(f"{score:.0f}" if scale else repr(score) for score in scores)])
    width = 1 + max(len(cell) for row in rows for cell in row)
    lines += ["".join(cell.rjust(width if k else 1) for k, cell in enumerate(row)) for row in rows]
    return "\n".join(lines).replace(" -0", "  0") + "\n" if scale else "\n".join(lines) + "\n"
