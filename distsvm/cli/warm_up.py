"""`distsvm warm-up`: compile the kernels of all structures, so that no later run waits for it."""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from distsvm.cli import exits
from distsvm.cli.formatting import counted, seconds
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass, make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.data.writers import write_svmlight
from distsvm.kernels.compiling import counted_compiles
from distsvm.oracles.description import TASKS
from distsvm.oracles.task import Task
from distsvm.structures.trees.oracle import KINDS
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.training.train import train

Settings: TypeAlias = tuple[dict[str, Any], ...]

SETTINGS: Settings = (
    {"solver": "one-slack", "cache_size": 0},
    {"solver": "one-slack", "cache_size": 5},
    {"solver": "multi-plane"},
    {"solver": "multi-plane", "n_blocks": 1},
    {"solver": "multi-plane", "asynchronous": True},
)
"""What decides which kernels a run uses, beside its task and data."""
WIDE = 5000  # features: w is longer than the driver keeps dense
MANY = 50  # classes, of which not all fit into LIMITED for every one of MANY · 4 examples
LIMITED = {"solver": "multi-plane", "plane_memory_mb": 0.04}
N = 12  # examples: types decide what is compiled, not sizes


def add_arguments(parser: Parser) -> None:
    """It has none of its own."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Train every structure on a few examples with every solver, which compiles what they use."""
    started, total = time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="distsvm-") as folder, _without_advice():
        for name in TASKS:
            with counted_compiles() as n_compiled:
                for task, data, settings in _problems(name, Path(folder)):
                    _use(task, data, settings)
            total += n_compiled()
            output.record("warm-up", {"task": name, "n_compiled": n_compiled()})
            output.say(f"{name}: {counted(n_compiled(), 'kernel')} compiled")
    elapsed_s = time.perf_counter() - started
    output.record("result", {"n_compiled": total, "seconds": elapsed_s})
    done = f"{counted(total, 'kernel')} compiled" if total else "all kernels were compiled before"
    output.say(f"{done}, {seconds(elapsed_s)}")
    return exits.DONE


def _problems(name: str, folder: Path) -> Iterator[tuple[Task, Any, Settings]]:
    """Tasks of one structure and examples of every kind that its kernels tell apart."""
    make = TASKS[name]
    if name == "sequence":
        features = Templates.parse("bias; word[-1..+1]").features
        tagged = [(features(words), tags) for words, tags in make_tagged_sentences(N)]
        for order in (1, 2):
            for losses in ("hamming", "zero-one"):
                yield make(losses=losses, order=order), tagged, SETTINGS  # type: ignore[call-arg]
    elif name == "parse":
        write_treebank(folder / "trees.mrg", make_treebank(N, max_length=8))
        for losses in KINDS:
            for words in (False, True):
                yield make(losses=losses, words=words), folder / "trees.mrg", SETTINGS  # type: ignore[call-arg]
    else:
        k = 2 if name == "binary" else 3
        costs = np.ones((k, k)) - np.eye(k)
        X, y = make_multiclass(N, 4, k)
        yield make(), (X, y), SETTINGS
        yield make(losses=costs, scale=True), (X, y), SETTINGS  # type: ignore[call-arg]
        yield make(), (X.astype(np.float32), y), SETTINGS
        yield make(), make_sparse_multiclass(N, WIDE, k), SETTINGS
        write_svmlight(folder / "rows.svm", X, y)
        yield make(), folder / "rows.svm", SETTINGS
        if name == "multiclass":
            yield make(), make_multiclass(4 * MANY, MANY, MANY), (LIMITED,)
            yield make(), make_sparse_multiclass(4 * MANY, WIDE, MANY), (LIMITED,)


def _use(task: Task, data: Any, settings: Settings) -> None:
    """Train with every setting, and score, which predicts."""
    for rescaling in sorted(task.rescalings):
        for more in settings:
            result = train(task, data, rescaling=rescaling, max_rounds=4, executor="serial", **more)
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
