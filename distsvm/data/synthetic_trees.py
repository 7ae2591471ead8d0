"""Random treebanks; the code is the structure's, and this is its public name."""

from __future__ import annotations

from typing import Any

from distsvm.oracles.structure import imported


def __getattr__(name: str) -> Any:
    return getattr(imported("distsvm.structures.trees.synthetic"), name)
