"""Errors of the objects, with the numbers of their shards."""

from __future__ import annotations

from contextlib import suppress

from distsvm.errors import DistSVMError, TaskError
from distsvm.wording import message, message_of


def named(error: BaseException, shard: int) -> DistSVMError:
    """The error with its shard's number: one of ours keeps its type, others become TaskErrors."""
    if isinstance(error, DistSVMError):
        with suppress(Exception):  # a user's subclass may want other arguments
            return type(error)(message("shard {}: {}", shard, message_of(error)))
    return TaskError(f"shard {shard}: {type(error).__name__}: {error}")
