"""The public name of the maker of random treebanks, which the structure of trees has."""

from __future__ import annotations

from typing import Any

from distsvm.oracles.structure import imported


def __getattr__(name: str) -> Any:
    return getattr(imported("distsvm.structures.trees.synthetic"), name)
