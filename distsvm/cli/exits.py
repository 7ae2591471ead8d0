"""Exit codes: their meanings, and those of errors and of ends of runs."""

from __future__ import annotations

import signal

from distsvm.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DistSVMError,
    JobError,
    ModelError,
    TaskError,
    WorkerLost,
)

DONE = 0
UNEXPECTED = 1
USAGE = 2
BAD_DATA = 3
TASK_FAILED = 4
WORKERS_LOST = 5
UNUSABLE = 6
STOPPED_EARLY = 7
JOB_FAILED = 8
INTERRUPTED = 130

MEANINGS = {
    DONE: "done; a training run reached the target gap",
    UNEXPECTED: "unexpected error",
    USAGE: "bad usage or configuration",
    BAD_DATA: "the data cannot be used",
    TASK_FAILED: "the task's own code failed",
    WORKERS_LOST: "workers were lost or could not be placed",
    UNUSABLE: "a model, checkpoint or run folder cannot be used",
    STOPPED_EARLY: "a training run ended before the target gap (its model is written)",
    JOB_FAILED: "a job failed, or the server of jobs cannot be used",
    INTERRUPTED: "interrupted by Ctrl-C",
}

EPILOG = "exit codes:\n" + "\n".join(f"  {code:>3}  {text}" for code, text in MEANINGS.items())

_ERRORS: tuple[tuple[type[DistSVMError], int], ...] = (
    (ConfigError, USAGE),
    (DataError, BAD_DATA),
    (TaskError, TASK_FAILED),
    (WorkerLost, WORKERS_LOST),
    (CheckpointError, UNUSABLE),
    (ModelError, UNUSABLE),
    (JobError, JOB_FAILED),
)


def meaning(code: int) -> str:
    """Return the meaning of an exit code; −N is that of a process that signal N killed."""
    if code >= 0:
        return MEANINGS.get(code, "not an exit code of distsvm")
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def code_of_error(error: BaseException) -> int:
    """Return the exit code for an error."""
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), UNEXPECTED)


def code_of_end(stop_reason: str, eps: float | None, rel_gap: float | None = None) -> int:
    """Return the exit code for the end of a training run.

    An end by "precision" is a success only if the target gap is 0.
    """
    if stop_reason == "interrupted":
        return INTERRUPTED
    limited = stop_reason in ("max_rounds", "max_seconds")
    if limited or (stop_reason == "precision" and (eps or rel_gap)):
        return STOPPED_EARLY
    return DONE
