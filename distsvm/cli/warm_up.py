"""`distsvm warm-up`: compile the kernels of all structures, so that no later run waits for it."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from distsvm.cli import exits
from distsvm.cli.formatting import counted, seconds
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.kernels.compiling import counted_compiles
from distsvm.oracles.structure import imported
from distsvm.oracles.task import Task
from distsvm.registry import solvers, structures
from distsvm.training.train import train

Settings: TypeAlias = tuple[dict[str, Any], ...]


def add_arguments(parser: Parser) -> None:
    """Add nothing: warm-up has only the options of all verbs."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Train every structure on a few examples with every solver, which compiles their kernels."""
    started, total = time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="distsvm-") as folder, _without_advice():
        for name, problems in _problems().items():
            with counted_compiles() as n_compiled:
                for task, data, settings in problems(name, Path(folder)):
                    _use(task, data, settings or _settings(task))
            total += n_compiled()
            output.record("warm-up", {"task": name, "n_compiled": n_compiled()})
            output.say(f"{name}: {counted(n_compiled(), 'kernel')} compiled")
    elapsed_s = time.perf_counter() - started
    output.record("result", {"n_compiled": total, "seconds": elapsed_s})
    done = f"{counted(total, 'kernel')} compiled" if total else "all kernels were compiled before"
    output.say(f"{done}, {seconds(elapsed_s)}")
    return exits.DONE


def _problems() -> dict[str, Callable[[str, Path], Iterator[tuple[Task, Any, Settings | None]]]]:
    """Return generators of problems that use all kernels of a task, by its saved name."""
    return {
        name: imported(structure.problems)
        for structure in structures().values()
        if structure.problems is not None
        for name in structure.tasks
    }


def _settings(task: Task) -> Settings:
    """Return settings of training that use all kernels of the solvers that can train the task."""
    return tuple(
        {"solver": name} | more
        for name, solver in solvers().items()
        if solver.needs <= task.capabilities
        for more in solver.warm_up
    )


def _use(task: Task, data: Any, settings: Settings) -> None:
    """Train with every setting, and evaluate, which also predicts."""
    for rescaling in sorted(task.rescalings):
        for more in settings:
            result = train(task, data, rescaling=rescaling, max_rounds=4, executor="serial", **more)
            result.model.evaluate(data, executor="serial")


@contextmanager
def _without_advice() -> Iterator[None]:
    """Hide the library's warnings, which such small data causes."""
    log = logging.getLogger("distsvm")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
