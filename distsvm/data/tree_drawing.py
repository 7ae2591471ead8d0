"""Drawings of trees; the code is the structure's, and this is its public name."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("distsvm.structures.trees.drawing"), name)
