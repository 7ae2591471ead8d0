"""Where workers live: in this thread, in threads, in processes, or on a Ray cluster."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from distsvm.errors import ConfigError
from distsvm.executors.base import Activity, Executor, checked_n_workers, usable_cores
from distsvm.executors.recovery import Limits

__all__ = ["CHOICES", "Activity", "Executor", "make_executor"]

CHOICES = ("auto", "serial", "threads", "processes", "ray")


def make_executor(
    name: str, n_workers: int | None = None, *, compiled: bool, **options: Any
) -> Executor:
    """The executor of that name, not started yet.

    Parameters
    ----------
    name : one of CHOICES; "auto" is serial for one worker, threads for compiled code (which lets
        go of the interpreter lock), and processes for all else
    n_workers : None for one a usable core, or for as many as an existing Ray cluster can hold
    compiled : whether the objects' methods spend their time in compiled code
    options : for that executor's class. Those of Limits fit all: no worker of this process is ever
        lost
    """
    if name not in CHOICES:
        raise ConfigError(f"executor={name!r}: expected one of {', '.join(CHOICES)}")
    if n_workers is not None:
        n_workers = checked_n_workers(n_workers)
    if name == "auto":
        n_workers = n_workers or usable_cores()
        name = "serial" if n_workers == 1 else "threads" if compiled else "processes"
    if name in ("serial", "threads"):
        limits = {
            each.name: options.pop(each.name) for each in fields(Limits) if each.name in options
        }
        Limits(**limits)  # checked all the same
    try:
        return _make(name, n_workers, options)
    except TypeError as error:
        raise ConfigError(f"executor {name!r}: {error}") from error


def _make(name: str, n_workers: int | None, options: dict[str, Any]) -> Executor:
    # imported here because each costs time and some need packages that are not always installed
    if name == "serial":
        from distsvm.executors.serial import SerialExecutor

        if n_workers not in (None, 1):
            raise ConfigError(f'executor="serial" has one worker, but n_workers is {n_workers}')
        return SerialExecutor(**options)
    if name == "threads":
        from distsvm.executors.threads import ThreadsExecutor

        return ThreadsExecutor(n_workers or usable_cores(), **options)
    if name == "processes":
        from distsvm.executors.processes import ProcessesExecutor

        return ProcessesExecutor(n_workers or usable_cores(), **options)
    from distsvm.executors.ray import RayExecutor

    return RayExecutor(n_workers, **options)
