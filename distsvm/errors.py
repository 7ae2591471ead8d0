"""The errors that distsvm raises on purpose; everything else is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from distsvm.wording import Setting, message, message_of

DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError
)  # fmt: skip
"""Errors of code that reads a file without checks, where the file is damaged or forged."""


class DistSVMError(Exception):
    """The base of every error that distsvm raises on purpose."""


class ConfigError(DistSVMError, ValueError):
    """A parameter is out of its range: ConfigError(parameter, value, expected).

    A single text (or Message) is for several parameters, or for none.
    """

    parameter: str | None = None
    """The parameter that is out of its range."""
    expected: str | None = None

    def __init__(self, *args: Any) -> None:
        if len(args) == 3:
            self.parameter, value, self.expected = args
            args = (message("{}: expected {}", Setting(self.parameter, value), self.expected),)
        super().__init__(*args)


class DataError(DistSVMError, ValueError):
    """The data cannot be used; the message names the file and line, or the example."""


class TaskError(DistSVMError):
    """A task's own code failed or broke its contract; the message names the example."""


class WorkerLost(DistSVMError):
    """A worker process died, and the failure policy does not allow to build it again."""


class PlacementError(WorkerLost):
    """The requested workers could not be placed within the time limit."""


class QPError(DistSVMError):
    """A quadratic programme could not be solved to the wanted precision."""


class CheckpointError(DistSVMError, ValueError):
    """A checkpoint or run folder is damaged, too new, or belongs to another problem."""


class StoreError(OSError, CheckpointError):
    """A store or a disk refused an operation; the message names the URI or path."""


class ModelError(DistSVMError, ValueError):
    """A saved model is damaged, too new, or needs a task class that was not given."""


class JobError(DistSVMError):
    """A job cannot be sent, found or watched; the message names the cluster's address."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name."""
    near = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; the nearest is {near[0]!r}" if near else ""


def renamed(error: DistSVMError, where: str) -> DistSVMError:
    """Return the error with the place in front; a TaskError if its type takes other arguments."""
    try:
        return type(error)(message("{}: {}", where, message_of(error)))
    except Exception:
        return TaskError(f"{where}: {type(error).__name__}: {error}")
