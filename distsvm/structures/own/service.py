"""Models of tasks in plain Python behind the service: inputs and outputs as the task has them."""

from __future__ import annotations

from typing import Any

from distsvm.model import Model
from distsvm.service.parts import Answers


def inputs(model: Model, values: list[Any]) -> list[Any]:
    return values


def outputs(model: Model, found: Any) -> list[Any]:
    def plain(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else model.task.encode_output(value)

    return [plain(value) for value in found]


ANSWERS = Answers("an input of the task, as the x of a JSONL file has it", inputs, outputs)
