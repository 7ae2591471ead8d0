"""Predicted trees: in brackets, drawn with lines, or as SVG."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Predictions
from distsvm.cli.signs import field
from distsvm.cli.targets import written_file
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.kinds import path, truth
from distsvm.model import Model
from distsvm.structures.trees.drawing import draw_tree, trees_svg
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import is_flat

FLAGS = {"draw": "--draw", "svg": "--svg"}


def add(group: Group) -> None:
    group.flag(
        "--draw", truth, default=ABSENT,
        help="trees: draw them with lines instead of brackets, a blank line after each; on "
        "standard output, unless --output is given",
    )  # fmt: skip
    group.flag(
        "--svg", path, metavar="FILE", default=ABSENT,
        help="trees: draw them, one below the other, to an SVG file; --output is then not needed",
    )  # fmt: skip


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    on_screen = hasattr(args, "draw") and args.output in (None, "-")
    width = output.width if on_screen else None
    return Trees(output, hasattr(args, "draw"), width, getattr(args, "svg", None))


class Trees(Writer):
    """One tree a line in brackets, or drawings; and an SVG file of all, if one is named."""

    fallback = "flat, as the sentence is outside the grammar or too long for --memory-mb"

    def __init__(self, output: Output, draw: bool, width: int | None, svg: str | None) -> None:
        self.on_screen, self.needs_file, self._output = draw, svg is None, output
        self._draw, self._width, self._svg = draw, width, svg
        self._trees: list[Tree] = []

    def texts(self, piece: ShardSpec, found: list[Tree]) -> Iterator[str]:
        for tree in found:
            self.n_fallbacks += is_flat(tree)
            if self._svg is not None:
                self._trees.append(tree)
            if self._draw:
                yield "".join(f"{field(line)}\n" for line in self._drawn(tree)) + "\n"
            else:
                yield f"{field(str(tree))}\n"

    def _drawn(self, tree: Tree) -> list[str]:
        return draw_tree(tree, self._width).split("\n")

    def finish(self) -> list[str]:
        if self._svg is None:
            return []
        with written_file(self._svg, self._output, "--svg") as file:
            file.write(trees_svg(self._trees))
        return [self._svg]


PREDICTIONS = Predictions(
    "in brackets, and flat under TOP where a sentence is outside the grammar or too long for the "
    "model's --memory-mb; a note counts these",
    writer,
    FLAGS,
    add,
)
