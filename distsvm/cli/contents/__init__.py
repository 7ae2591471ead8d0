"""What `inspect` shows of a model, for each structure.

A module for each structure has `facts(model, n_top, names)` for JSON, and of these facts
`rows(facts)`, names with values, and `lines(facts, output)`, the weights that count most.
"""

from __future__ import annotations

from types import ModuleType

from distsvm.cli.structure import chosen
from distsvm.oracles.task import Task
from distsvm.structures.classes import inspection as classes
from distsvm.structures.own import inspection as own
from distsvm.structures.sequences import inspection as sequence
from distsvm.structures.trees import inspection as parse


def contents_of(task: Task) -> ModuleType:
    """The module for this task."""
    return chosen(task, classes=classes, sequence=sequence, parse=parse, own=own)
