"""Scores of users' tasks: the loss, and the share of outputs without loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.cli.formatting import counted as in_words
from distsvm.cli.formatting import pairs, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.messages import Score
from distsvm.oracles.task import Task
from distsvm.workers.shard_worker import ShardWorker


def counted(worker: ShardWorker, w: np.ndarray) -> Score:
    return worker.evaluate(w)


def facts(task: Task, total: Score) -> dict[str, Any]:
    return {
        "n_examples": total.n_examples,
        "accuracy": total.accuracy,
        "mean_loss": total.mean_loss,
    }


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    overall = [
        ("accuracy", f"{facts['accuracy']:.4f}, the share of outputs without loss"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", in_words(facts["n_examples"], "example")),
    ]
    return pairs(overall, output.style, output.width)


SCORES = Scores("loss, and the share of outputs without loss", counted, facts, lines)
