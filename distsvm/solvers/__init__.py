"""Solvers by name."""

from __future__ import annotations

from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack

SOLVERS: dict[str, type] = {"one-slack": OneSlack, "multi-plane": MultiPlane}
