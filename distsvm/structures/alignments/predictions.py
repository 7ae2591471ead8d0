"""Predicted alignments: as JSON, as two rows of letters, or as SVG."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from distsvm.cli.drawings import FLAGS, Drawings, add_drawing
from distsvm.cli.output import Output
from distsvm.cli.parts import Predictions
from distsvm.data.shard import ShardSpec
from distsvm.model import Model
from distsvm.structures.alignments.alignment import Alignment, as_sequences, encoded
from distsvm.structures.alignments.drawing import alignments_svg, draw_alignment


def writer(args: argparse.Namespace, model: Model, output: Output) -> Drawings:
    return Alignments(args, output)


class Alignments(Drawings):
    """The candidate and the columns; drawings have the letters, too."""

    def drawable(self, piece: ShardSpec, found: list[Alignment]) -> Iterator[Any]:
        if not (self._draw or self._svg):
            return ((None, y) for y in found)
        inputs: Any = piece.load().x
        return zip(map(as_sequences, inputs), found, strict=True)

    def text(self, one: Any) -> str:
        return json.dumps(encoded(one[1]))

    def drawn(self, one: Any, width: int | None) -> str:
        return draw_alignment(*one, width=width)

    def svg(self, kept: list[Any]) -> str:
        return alignments_svg(kept)


PREDICTIONS = Predictions(
    "the candidate and the columns of its alignment, as the y of a JSONL file has them",
    writer,
    FLAGS,
    add_drawing,
)
