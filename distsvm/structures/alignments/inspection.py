"""A model of alignments: its scores of pairs and gaps, printed, drawn, and as BLAST's matrix."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from distsvm.cli.formatting import count
from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Inspection
from distsvm.cli.strongest import both_sides, side_lines, times
from distsvm.cli.targets import written_file
from distsvm.kinds import path
from distsvm.model import Model
from distsvm.structures.alignments.drawing import matrix_svg
from distsvm.structures.alignments.matrix import matrix_text
from distsvm.structures.alignments.task import AlignmentTask

FLAGS = {"matrix": "--matrix", "matrix_svg": "--matrix-svg"}


def add(group: Group) -> None:
    group.flag(
        "--matrix", path, metavar="FILE", default=ABSENT,
        help="alignments: write the scores of pairs in BLAST's format, as whole numbers of which "
        "the largest is 100",
    )  # fmt: skip
    group.flag(
        "--matrix-svg", path, metavar="FILE", default=ABSENT,
        help="alignments: draw the scores of pairs to an SVG file",
    )  # fmt: skip


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    task, w = model.task, model.w
    assert isinstance(task, AlignmentTask)
    for name, text in (("matrix", matrix_text), ("matrix_svg", matrix_svg)):
        if hasattr(args, name):
            with written_file(getattr(args, name), None, FLAGS[name]) as file:
                file.write(text(task, w))
    open_, extend = w[list(task.gap_features)].tolist()
    names = [f"{a}{b}" for a in task.letters for b in task.letters]
    first = np.unique(task.pair_features, return_index=True)[1]
    return {
        "letters": task.letters,
        "alignment": task.alignment,
        "gaps": task.gaps,
        "gap_scores": {"first": open_, "others": extend},
        "symmetric": task.symmetric,
        "n_unknown": task.n_unknown,
        "loss": task.losses,
        "loss_scale": task.loss_scale,
        "matrix": task.matrix(w).tolist(),
        "top_pairs": both_sides(w[: task.n_pairs], args.top, lambda j: names[first[j]]),
    }


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    gaps = facts["gap_scores"]
    return [
        ("letters", f"{len(facts['letters'])}: {facts['letters']}"),
        ("alignment", f"{facts['alignment']}, {facts['gaps']} gaps"),
        ("gaps", f"{gaps['first']:.4g} for the first letter, {gaps['others']:.4g} for the others"),
        ("loss", times(facts["loss"], facts["loss_scale"])),
        ("found", f"alignments of {count(facts['n_unknown'])} training examples, given none"),
    ]


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    letters, matrix = facts["letters"], np.array(facts["matrix"])
    cells = [[f"{score:.2f}" for score in row] for row in matrix.tolist()]
    width = 1 + max(len(cell) for row in cells for cell in row)
    shown = ["", *side_lines(facts["top_pairs"], "pairs", "native, candidate", output)]
    if 2 + width * (1 + len(letters)) <= max(output.width, 100):
        table = ["".join(cell.rjust(width) for cell in ["", *letters])]
        for letter, row in zip(letters, cells, strict=True):
            table.append("".join(cell.rjust(width) for cell in [letter, *row]))
        shown += ["", f"  {output.style.bold('scores of pairs')}", *(f"  {row}" for row in table)]
    return shown


INSPECTION = Inspection(
    "pairs of letters, and all scores where the screen is wide enough", facts, lines, rows, FLAGS,
    add,
)  # fmt: skip
