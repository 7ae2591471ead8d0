"""Predicted nodes of a taxonomy: one path in each line, or a table of scores."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from distsvm.cli.output import Output
from distsvm.cli.parts import Predictions
from distsvm.cli.signs import field
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.model import Model
from distsvm.structures.classes import predictions as classes
from distsvm.structures.classes.taxonomies.task import TaxonomyTask
from distsvm.workers.shard_worker import ShardWorker


class Paths(Writer):
    """Lines of one path each."""

    def __init__(self, task: TaxonomyTask) -> None:
        self.function = _numbers
        self._paths = [f"{field(path)}\n" for path in task.class_paths]

    def texts(self, piece: ShardSpec, found: np.ndarray) -> Iterator[str]:
        return (self._paths[number] for number in found.tolist())


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    assert isinstance(model.task, TaxonomyTask)
    if hasattr(args, "scores"):
        return classes.writer(args, model, output)
    return Paths(model.task)


def _numbers(worker: ShardWorker, w: np.ndarray) -> np.ndarray:
    oracle = worker.oracle
    return oracle.decode(oracle.view(w), np.arange(oracle.n))


PREDICTIONS = Predictions("the path of the node", writer, classes.FLAGS, classes.add)
