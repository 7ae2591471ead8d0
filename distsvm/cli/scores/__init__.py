"""What `evaluate` counts and shows, for each structure.

A module for each structure has `counted(worker, w)`, whose values add up over the pieces of the
data, `facts(task, total)` for JSON, and `lines(facts, output)` for people.
"""

from __future__ import annotations

from types import ModuleType

from distsvm.cli.scores import classes, own, parse, sequence
from distsvm.cli.structure import chosen
from distsvm.tasks.base import Task


def scores_of(task: Task) -> ModuleType:
    """The module for this task."""
    return chosen(task, classes=classes, sequence=sequence, parse=parse, own=own)
