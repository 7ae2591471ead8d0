"""A model of a task that is not built in: the positions of w with the largest weights."""

from __future__ import annotations

from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.strongest import both_sides, side_lines
from distsvm.errors import ConfigError
from distsvm.model import Model


def facts(model: Model, n_top: int, names: str | None) -> dict[str, Any]:
    if names is not None:
        raise ConfigError("--names is only for models of classes")
    return {"top_positions": both_sides(model.w, n_top, str)}


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return []


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    return ["", *side_lines(facts["top_positions"], "positions of w", "", output)]
