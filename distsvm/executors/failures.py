"""Errors of objects, with the numbers of their shards."""

from __future__ import annotations

from contextlib import suppress

from distsvm.errors import DistSVMError, TaskError
from distsvm.wording import message, message_of


def named(error: BaseException, shard: int) -> DistSVMError:
    """Return the error with its shard's number; an error of another package becomes a TaskError."""
    if isinstance(error, DistSVMError):
        with suppress(Exception):  # a user's subclass may want other arguments
            return type(error)(message("shard {}: {}", shard, message_of(error)))
    return TaskError(f"shard {shard}: {type(error).__name__}: {error}")
