"""What `inspect` shows of a model, for each structure.

A module for each structure has `facts(model, n_top, names)` for JSON, and of these facts
`rows(facts)`, names with values, and `lines(facts, output)`, the weights that count most.
"""

from __future__ import annotations

from types import ModuleType

from distsvm.cli.contents import classes, own, parse, sequence
from distsvm.cli.structure import chosen
from distsvm.tasks.base import Task


def contents_of(task: Task) -> ModuleType:
    """The module for this task."""
    return chosen(task, classes=classes, sequence=sequence, parse=parse, own=own)
