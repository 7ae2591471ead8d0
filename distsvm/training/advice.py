"""Commands that messages recommend."""

from __future__ import annotations

import os
import shlex

from distsvm.storage import Where

JOB_ADDRESS = "DISTSVM_JOB_ADDRESS"
"""The variable with the address of the dashboard, as the sender of a job typed it."""


def own_task(task: str | None) -> list[str]:
    """Return the option that names a user's own task, whose code a run does not store."""
    return ["--task", task] if task is not None and ":" in task else []


def command(verb: str, run_dir: Where, *options: str) -> str:
    """Return `distsvm VERB RUN_DIR OPTIONS`; inside a job with the --address of its cluster.

    A reader of a job's output is on another machine, and reaches the run through the cluster only.
    """
    address = os.environ.get(JOB_ADDRESS)
    words = ["distsvm", verb, str(run_dir), *options]
    return shlex.join(words if address is None else [*words, "--address", address])
