"""What `distsvm inspect` shows of a model of rings."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.formatting import pairs
from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection
from distsvm.model import Model


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    *features, constant, attraction = model.w.tolist()
    return {"features": features, "constant": constant, "attraction": attraction}


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    named = {f"feature {j}": weight for j, weight in enumerate(facts["features"])}
    named |= {"constant": facts["constant"], "attraction": facts["attraction"]}
    rows = [(name, f"{weight:+.4f}") for name, weight in named.items()]
    return ["", *pairs(rows, output.style, output.width)]


INSPECTION = Inspection("the weight of each feature, and the attraction", facts, lines)
