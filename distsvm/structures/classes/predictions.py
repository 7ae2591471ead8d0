"""Predicted classes: one label in each line, or a table of scores."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Predictions
from distsvm.cli.signs import field
from distsvm.cli.writer import Writer
from distsvm.data.shard import ShardSpec
from distsvm.kinds import truth
from distsvm.model import Model
from distsvm.structures.classes.oracle import ClassOracle
from distsvm.structures.classes.task import ClassTask
from distsvm.workers.shard_worker import ShardWorker

FLAGS = {"scores": "--scores"}


def add(group: Group) -> None:
    group.flag(
        "--scores", truth, default=ABSENT,
        help="classes: write a table with tabs instead: a head line, then the label and the score "
        "⟨w, Ψ(x, ŷ)⟩ of every class",
    )  # fmt: skip


def writer(args: argparse.Namespace, model: Model, output: Output) -> Writer:
    assert isinstance(model.task, ClassTask)
    return Scores(model.task.labels.tolist()) if hasattr(args, "scores") else Labels()


class Labels(Writer):
    """Lines of one label each."""

    def texts(self, piece: ShardSpec, found: np.ndarray) -> Iterator[str]:
        return (f"{_as_text(label)}\n" for label in found.tolist())


class Scores(Writer):
    """Lines of a label and the scores of all classes, after a line of their names."""

    def __init__(self, labels: list[Any]) -> None:
        self.function = _scored
        self.head = "\t".join(["label", *map(_as_text, labels)]) + "\n"

    def texts(self, piece: ShardSpec, found: tuple[np.ndarray, np.ndarray]) -> Iterator[str]:
        labels, scores = found
        for label, row in zip(labels.tolist(), scores.tolist(), strict=True):
            yield "\t".join([_as_text(label), *(f"{score!r}" for score in row)]) + "\n"


def _scored(worker: ShardWorker, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    oracle = worker.oracle
    assert isinstance(oracle, ClassOracle)
    scores = oracle.scores(oracle.view(w), np.arange(oracle.n))
    return oracle.public(np.argmax(scores, axis=1)), scores


def _as_text(label: Any) -> str:
    """Return a label in the form of a file, on one line and in one column."""
    return field(str(label) if isinstance(label, (str, int, float, bool)) else json.dumps(label))


PREDICTIONS = Predictions("the label", writer, FLAGS, add)
