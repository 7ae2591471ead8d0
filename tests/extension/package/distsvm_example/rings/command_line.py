"""What the command line asks about rings: the options of the task, and what `inspect` shows."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.formatting import pairs
from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection, Options
from distsvm.model import Model
from distsvm.options import declared
from distsvm_example.rings.task import RingTask


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    *features, constant, attraction = model.w.tolist()
    return {"features": features, "constant": constant, "attraction": attraction}


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    named = {f"feature {j}": weight for j, weight in enumerate(facts["features"])}
    named |= {"constant": facts["constant"], "attraction": facts["attraction"]}
    rows = [(name, f"{weight:+.4f}") for name, weight in named.items()]
    return ["", *pairs(rows, output.style, output.width)]


OPTIONS = Options(declared(RingTask))
INSPECTION = Inspection("the weight of each feature, and the attraction", facts, lines)
