"""The errors that distsvm raises on purpose; everything else is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from distsvm.wording import Setting, message, message_of

DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError
)  # fmt: skip
"""What code raises that believes what a file says, where the file is damaged or made up."""


class DistSVMError(Exception):
    """The base of every error that distsvm raises on purpose."""


class ConfigError(DistSVMError, ValueError):
    """A parameter is out of its range: ConfigError(parameter, value, expected).

    With a single text (or Message) it is about several parameters, or about none.
    """

    parameter: str | None = None
    """The one that is out of its range."""
    expected: str | None = None

    def __init__(self, *said: Any) -> None:
        if len(said) == 3:
            self.parameter, value, self.expected = said
            said = (message("{}: expected {}", Setting(self.parameter, value), self.expected),)
        super().__init__(*said)


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


class JobError(DistSVMError):
    """A job cannot be sent, found or watched; the message names the cluster's address."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; the nearest is {near[0]!r}" if near else ""


def renamed(error: DistSVMError, where: str) -> DistSVMError:
    """The same error with the place in front; a TaskError if its type wants other arguments."""
    try:
        return type(error)(message("{}: {}", where, message_of(error)))
    except Exception:
        return TaskError(f"{where}: {type(error).__name__}: {error}")
