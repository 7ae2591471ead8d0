"""What `inspect` shows of a user's task: the positions of w with the largest weights."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection
from distsvm.cli.strongest import both_sides, side_lines
from distsvm.model import Model


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    return {"top_positions": both_sides(model.w, args.top, str)}


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    return ["", *side_lines(facts["top_positions"], "positions of w", "", output)]


INSPECTION = Inspection("positions of w", facts, lines)
