"""Predictions of tasks that are not built in: the output as JSON, one a line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.parser import Group
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.model import Model

TITLE = "tasks of your own"
FLAGS: dict[str, str] = {}


def add(group: Group) -> None:
    """Such tasks have no options of their own."""


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    return Outputs(model)


class Outputs(Writer):
    """One output a line, as the y of a JSONL file has it where JSON knows its type."""

    def __init__(self, model: Model) -> None:
        self._encode = model.task.encode_output

    def texts(self, piece: ShardSpec, found: list[Any]) -> Iterator[str]:
        return (f"{json.dumps(output, default=self._plain)}\n" for output in found)

    def _plain(self, value: Any) -> Any:
        """NumPy values as lists and numbers; all others as encode_output gives them."""
        return value.tolist() if hasattr(value, "tolist") else self._encode(value)
