"""Predicted trees: in brackets, drawn with lines, or as SVG."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from distsvm.cli.drawings import FLAGS, Drawings, add_drawing
from distsvm.cli.n_best import N_BEST, Best, add_n_best
from distsvm.cli.output import Output
from distsvm.cli.parts import Predictions
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.errors import ConfigError
from distsvm.model import Model
from distsvm.structures.trees.answers import best_trees
from distsvm.structures.trees.drawing import draw_tree, trees_svg
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import is_flat


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    if not hasattr(args, "n_best"):
        return Trees(args, output)
    if hasattr(args, "draw") or hasattr(args, "svg"):
        raise ConfigError("--n-best writes trees in brackets; leave out --draw and --svg")
    return Best(args.n_best, best_trees, str)


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
    FLAGS | N_BEST,
    (add_drawing, add_n_best),
)
