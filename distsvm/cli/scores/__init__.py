"""What `evaluate` counts and shows, for each structure.

A module for each structure has `counted(worker, w)`, whose values add up over the pieces of the
data, `facts(task, total)` for JSON, and `lines(facts, output)` for people.
"""

from __future__ import annotations

from types import ModuleType

from distsvm.cli.scores import classes, parse, sequence
from distsvm.tasks.base import Task
from distsvm.tasks.classes import ClassTask
from distsvm.tasks.parse import ParseTask
from distsvm.tasks.sequence import SequenceTask

STRUCTURES: dict[type[Task], ModuleType] = {
    ClassTask: classes,
    SequenceTask: sequence,
    ParseTask: parse,
}


def scores_of(task: Task) -> ModuleType:
    """The module for this task."""
    return next(module for cls, module in STRUCTURES.items() if isinstance(task, cls))
