"""The errors that distsvm raises on purpose; everything else is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError
)  # fmt: skip
"""What code raises that believes what a file says, where the file is damaged or made up."""


class DistSVMError(Exception):
    """The base of every error that distsvm raises on purpose."""


class ConfigError(DistSVMError, ValueError):
    """A parameter is out of its range; the message names it and says what was expected."""


class DataError(DistSVMError, ValueError):
    """The data cannot be used; the message names the file and line, or the example."""


class TaskError(DistSVMError):
    """A task's own code failed or broke its contract; the message names the example."""


class WorkerLost(DistSVMError):
    """A worker process died, and the failure policy said not to build it again."""


class PlacementError(WorkerLost):
    """The workers that were asked for could not be placed within the time limit."""


class QPError(DistSVMError):
    """A quadratic programme could not be solved to the precision that was asked for."""


class CheckpointError(DistSVMError, ValueError):
    """A checkpoint or run folder is damaged, too new, or belongs to another problem."""


class StoreError(OSError, CheckpointError):
    """A store or a disk did not do what it was asked; the message names the URI or path."""


class ModelError(DistSVMError, ValueError):
    """A saved model is damaged, too new, or needs a task class that was not given."""


class UnknownTask(ModelError):
    """A saved model or run is of a task that belongs to no structure, and its class is not given.

    Parameters
    ----------
    task : str
        The name of the task that was saved.
    how : str
        How to give its class, in the words of whoever asked.
    """

    def __init__(
        self,
        task: str,
        how: str = "pass its class: load_model(path, task=...), or resume(run_dir, task=...)",
    ) -> None:
        super().__init__(task, how)
        self.task, self.how = task, how

    def __str__(self) -> str:
        return f"the model is of the task {self.task!r}, which is not built in; {self.how}"


class JobError(DistSVMError):
    """A job cannot be sent, found or watched; the message names the cluster's address."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; the nearest is {near[0]!r}" if near else ""


def renamed(error: DistSVMError, where: str) -> DistSVMError:
    """The same error with the place in front; a TaskError if its type wants other arguments."""
    try:
        return type(error)(f"{where}: {error}")
    except Exception:
        return TaskError(f"{where}: {type(error).__name__}: {error}")
