"""Which structure a model is of: classes, sequences, trees, or one of the user's own."""

from __future__ import annotations

from types import ModuleType

from distsvm.oracles.task import Task
from distsvm.structures.classes.task import ClassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask


def chosen(
    task: Task, *, classes: ModuleType, sequence: ModuleType, parse: ModuleType, own: ModuleType
) -> ModuleType:
    """The one of these modules that is for the structure of this task."""
    by_class = {ClassTask: classes, SequenceTask: sequence, ParseTask: parse}
    return next((module for cls, module in by_class.items() if isinstance(task, cls)), own)
