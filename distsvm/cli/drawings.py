"""Predictions that can be drawn: in the terminal instead of their text, and in an SVG file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Predictions, parts
from distsvm.cli.signs import field
from distsvm.cli.targets import written_file
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.kinds import path, truth

FLAGS = {"draw": "--draw", "svg": "--svg"}


def add_drawing(group: Group) -> None:
    """Add the flags, whose help names the structures that have drawings."""
    drawn = [one.title for one, part in parts(Predictions).items() if part.add is add_drawing]
    titles = " and ".join(drawn)
    group.flag(
        "--draw", truth, default=ABSENT,
        help=f"{titles}: draw them instead, a blank line after each; on standard output, unless "
        "--output is given",
    )  # fmt: skip
    group.flag(
        "--svg", path, metavar="FILE", default=ABSENT,
        help=f"{titles}: draw them, one below the other, to an SVG file; --output is then not "
        "needed",
    )  # fmt: skip


class Drawings(Writer):
    """One prediction a line, or drawings; and an SVG file of all, if one is named."""

    def __init__(self, args: argparse.Namespace, output: Output) -> None:
        self._draw, self._svg = hasattr(args, "draw"), getattr(args, "svg", None)
        self.on_screen, self.needs_file, self._output = self._draw, self._svg is None, output
        on_screen = self._draw and args.output in (None, "-")
        self._width = output.width if on_screen else None
        self._kept: list[Any] = []

    def drawable(self, piece: ShardSpec, found: list[Any]) -> Iterator[Any]:
        """Return the argument of `text`, `drawn` and `svg` for each of these predictions."""
        return iter(found)

    def text(self, one: Any) -> str:
        """Return a prediction as one line."""
        raise NotImplementedError

    def drawn(self, one: Any, width: int | None) -> str:
        """Return a prediction as lines, of at most this width where one is given."""
        raise NotImplementedError

    def svg(self, kept: list[Any]) -> str:
        """Return all predictions as an SVG document."""
        raise NotImplementedError

    def texts(self, piece: ShardSpec, found: list[Any]) -> Iterator[str]:
        for one in self.drawable(piece, found):
            if self._svg is not None:
                self._kept.append(one)
            if self._draw:
                lines = self.drawn(one, self._width).split("\n")
                yield "".join(f"{field(line)}\n" for line in lines) + "\n"
            else:
                yield f"{field(self.text(one))}\n"

    def finish(self) -> list[str]:
        if self._svg is None:
            return []
        with written_file(self._svg, self._output, "--svg") as file:
            file.write(self.svg(self._kept))
        return [self._svg]
