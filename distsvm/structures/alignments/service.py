"""Models of alignments behind the service: a native sequence with its candidates."""

from __future__ import annotations

from typing import Any

from distsvm.model import Model
from distsvm.service.parts import Answers
from distsvm.structures.alignments.alignment import encoded


def inputs(model: Model, values: list[Any]) -> list[Any]:
    return values


def outputs(model: Model, found: Any) -> list[Any]:
    return [encoded(one) for one in found]


ANSWERS = Answers("the x of a JSONL file: a sequence and its candidates", inputs, outputs)
