"""`distsvm warm-up`: compile the kernels of all structures, so that no later run waits for it."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.cli import exits
from distsvm.cli.formatting import counted, seconds
from distsvm.cli.output import Output
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass, make_tagged_sentences
from distsvm.data.synthetic_trees import make_treebank, write_treebank
from distsvm.data.templates import Templates
from distsvm.data.writers import write_svmlight
from distsvm.kernels.compiling import counted_compiles
from distsvm.solvers import SOLVERS
from distsvm.tasks.base import Task
from distsvm.tasks.registry import TASKS
from distsvm.training.train import train

N = 12  # examples: types decide what is compiled, not sizes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Train every structure on a few examples with every solver, which compiles what they use."""
    started, total = time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="distsvm-") as folder, _without_advice():
        for name in TASKS:
            with counted_compiles() as n_compiled:
                for task, data in _problems(name, Path(folder)):
                    _use(task, data)
            total += n_compiled()
            output.record("warm-up", {"task": name, "n_compiled": n_compiled()})
            output.say(f"{name}: {counted(n_compiled(), 'kernel')} compiled")
    elapsed_s = time.perf_counter() - started
    output.record("result", {"n_compiled": total, "seconds": elapsed_s})
    done = f"{counted(total, 'kernel')} compiled" if total else "all kernels were compiled before"
    output.say(f"{done}, {seconds(elapsed_s)}")
    return exits.DONE


def _problems(name: str, folder: Path) -> Iterator[tuple[Task, Any]]:
    """Tasks of one structure and examples of every kind that its kernels tell apart."""
    make = TASKS[name]
    if name == "sequence":
        features = Templates.parse("bias; word[-1..+1]").features
        tagged = [(features(words), tags) for words, tags in make_tagged_sentences(N)]
        for order in (1, 2):
            for losses in ("hamming", "zero-one"):
                yield make(losses=losses, order=order), tagged  # type: ignore[call-arg]
    elif name == "parse":
        write_treebank(folder / "trees.mrg", make_treebank(N, max_length=8))
        for losses in ("f1", "brackets", "zero-one"):
            for words in (False, True):
                yield make(losses=losses, words=words), folder / "trees.mrg"  # type: ignore[call-arg]
    else:
        k = 2 if name == "binary" else 3
        costs = np.ones((k, k)) - np.eye(k)
        X, y = make_multiclass(N, 4, k)
        yield make(), (X, y)
        yield make(losses=costs, scale=True), (X, y)  # type: ignore[call-arg]
        yield make(), (X.astype(np.float32), y)
        yield make(), make_sparse_multiclass(N, 30, k)
        write_svmlight(folder / "rows.svm", X, y)
        yield make(), folder / "rows.svm"


def _use(task: Task, data: Any) -> None:
    """Train with every solver, score and predict."""
    for rescaling in sorted(task.rescalings):
        for solver in SOLVERS:
            result = train(
                task, data, rescaling=rescaling, solver=solver, max_rounds=4, executor="serial",
            )  # fmt: skip
            result.model.evaluate(data, executor="serial")


@contextmanager
def _without_advice() -> Iterator[None]:
    """Warnings about such small data help no user."""
    log = logging.getLogger("distsvm")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
