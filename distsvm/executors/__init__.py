"""Executors: workers in this thread, in threads, in processes, or on a Ray cluster."""

from __future__ import annotations

from typing import Any

from distsvm.errors import ConfigError
from distsvm.executors.base import Activity, Executor, checked_n_workers, usable_cores
from distsvm.executors.options import EXECUTOR_OPTIONS
from distsvm.executors.recovery import Limits
from distsvm.kinds import choice
from distsvm.options import built
from distsvm.wording import Setting, message

__all__ = ["CHOICES", "Activity", "Executor", "make_executor"]

CHOICES = ("auto", "serial", "threads", "processes", "ray")


def make_executor(
    name: str,
    n_workers: int | None = None,
    *,
    compiled: bool,
    threaded: bool = False,
    **options: Any,
) -> Executor:
    """Return the executor of this name, before its start.

    Parameters
    ----------
    name : one of CHOICES; "auto" is serial for one worker, threads for compiled code (which
        releases the interpreter lock), and processes for all else
    n_workers : None for one a usable core, or for as many as fit into an existing Ray cluster;
        for `threaded` processes and actors, one a machine
    compiled : whether the objects' methods spend their time in compiled code
    threaded : whether the objects use several threads of their worker
    options : the fields of its dataclass in EXECUTOR_OPTIONS
    """
    if name not in CHOICES:
        raise ConfigError("executor", name, choice(*CHOICES).expected)
    if n_workers is not None:
        n_workers = checked_n_workers(n_workers)
    if name == "auto":
        n_workers = n_workers or usable_cores()
        name = "serial" if n_workers == 1 else "threads" if compiled else "processes"
    return _make(name, n_workers, threaded, built(EXECUTOR_OPTIONS[name], options))


def _make(name: str, n_workers: int | None, threaded: bool, options: Limits) -> Executor:
    # imported here because each costs time and some need packages that are not always installed
    if name == "serial":
        from distsvm.executors.serial import SerialExecutor

        if n_workers not in (None, 1):
            raise ConfigError(
                message(
                    "{} has one worker, but {n_workers} is {}",
                    Setting("executor", "serial"),
                    n_workers,
                )
            )
        return SerialExecutor()
    if name == "threads":
        from distsvm.executors.threads import ThreadsExecutor

        return ThreadsExecutor(n_workers or usable_cores())
    if name == "processes":
        from distsvm.executors.processes import ProcessesExecutor

        return ProcessesExecutor(n_workers, threaded=threaded, **vars(options))
    from distsvm.executors.ray import RayExecutor

    return RayExecutor(n_workers, threaded=threaded, **vars(options))
