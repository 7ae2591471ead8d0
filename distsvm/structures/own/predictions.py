"""Predictions of users' tasks: one output a line, as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.parts import Predictions
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.model import Model


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    return Outputs(model)


class Outputs(Writer):
    """One output a line: JSON as in the y of a JSONL file; see _plain for other types."""

    def __init__(self, model: Model) -> None:
        self._encode = model.task.encode_output

    def texts(self, piece: ShardSpec, found: list[Any]) -> Iterator[str]:
        return (f"{json.dumps(output, default=self._plain)}\n" for output in found)

    def _plain(self, value: Any) -> Any:
        """Return NumPy values as lists and numbers, and others by the task's encode_output."""
        return value.tolist() if hasattr(value, "tolist") else self._encode(value)


PREDICTIONS = Predictions("JSON", writer)
