"""Errors as problem+json (RFC 9457): a status, and the library's sentence."""

from __future__ import annotations

from typing import Any

from distsvm.cli.exits import code_of_error
from distsvm.cli.words import TOML
from distsvm.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DistSVMError,
    JobError,
    ModelError,
    TaskError,
)
from distsvm.service.queue import Taken
from distsvm.service.runs import Missing
from distsvm.storage import json_bytes
from distsvm.wording import message_of

TYPE = "application/problem+json"
TITLES = {
    400: "bad request", 401: "not signed in", 403: "refused", 404: "not found",
    405: "method not allowed", 409: "conflict", 413: "too large", 415: "media type",
    421: "wrong host", 422: "unfit", 429: "too many requests", 500: "unexpected error",
    502: "the cluster cannot be used",
}  # fmt: skip

STATUS: tuple[tuple[type[Exception], int], ...] = (
    (Missing, 404),
    (Taken, 409),
    (ConfigError, 422),
    (DataError, 422),
    (TaskError, 422),
    (CheckpointError, 409),
    (ModelError, 409),
    (JobError, 502),
)


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """Return the response of an error."""
    from starlette.responses import Response

    body = {"type": "about:blank", "title": TITLES.get(status, "error"), "status": status,
            "detail": detail, **more}  # fmt: skip
    return Response(json_bytes(body), status, media_type=TYPE, headers=headers)


def status_of(error: DistSVMError) -> int:
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def of_error(error: DistSVMError) -> Any:
    """Return the response of an error of the library."""
    shown = message_of(error).worded(TOML)
    return problem(
        status_of(error), shown, kind=type(error).__name__, exit_code=code_of_error(error)
    )
