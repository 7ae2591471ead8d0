"""Predicted trees: in brackets, drawn with lines, or as SVG."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from distsvm.cli.drawings import FLAGS, Drawings, add_drawing
from distsvm.cli.output import Output
from distsvm.cli.parts import Predictions
from distsvm.data.shard import ShardSpec
from distsvm.model import Model
from distsvm.structures.trees.drawing import draw_tree, trees_svg
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import is_flat


def writer(args: argparse.Namespace, model: Model, output: Output) -> Drawings:
    return Trees(args, output)


class Trees(Drawings):
    """Trees in brackets; counts those that stand in for none."""

    fallback = "flat, as the sentence is outside the grammar or too long for --memory-mb"

    def drawable(self, piece: ShardSpec, found: list[Tree]) -> Iterator[Tree]:
        for tree in found:
            self.n_fallbacks += is_flat(tree)
            yield tree

    def text(self, one: Tree) -> str:
        return str(one)

    def drawn(self, one: Tree, width: int | None) -> str:
        return draw_tree(one, width)

    def svg(self, kept: list[Tree]) -> str:
        return trees_svg(kept)


PREDICTIONS = Predictions(
    "in brackets, and flat under TOP where a sentence is outside the grammar or too long for the "
    "model's --memory-mb; a note counts these",
    writer,
    FLAGS,
    add_drawing,
)
