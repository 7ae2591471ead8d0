"""Risks: the interface of solvers to the examples. The risk is chosen here, apart from solvers."""

from __future__ import annotations

from typing import TypeVar, cast

from distsvm.risks.base import CutRisk, Risk, Workers
from distsvm.risks.example import ExampleRisk

R = TypeVar("R", bound=Risk)

LINEAR: dict[type, type[Risk]] = {CutRisk: ExampleRisk}
"""The risk of linear models for each kind that is abstract."""


def make_risk(kind: type[R], workers: Workers) -> R:
    """Return the risk of this kind for the examples of these workers."""
    return cast(R, LINEAR.get(kind, kind)(workers))
