"""What `evaluate` counts and shows, for each structure.

A module for each structure has `counted(worker, w)`, whose values add up over the pieces of the
data, `facts(task, total)` for JSON, and `lines(facts, output)` for people.
"""

from __future__ import annotations

from types import ModuleType

from distsvm.cli.structure import chosen
from distsvm.oracles.task import Task
from distsvm.structures.classes import scores as classes
from distsvm.structures.own import scores as own
from distsvm.structures.sequences import scores as sequence
from distsvm.structures.trees import scores as parse


def scores_of(task: Task) -> ModuleType:
    """The module for this task."""
    return chosen(task, classes=classes, sequence=sequence, parse=parse, own=own)
