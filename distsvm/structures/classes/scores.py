"""Scores of classes: accuracy, loss, and the scores and confusions of each class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cli.counts import Counts, confusion_lines, label_lines
from distsvm.cli.formatting import counted as in_words
from distsvm.cli.formatting import pairs, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.errors import DataError
from distsvm.messages import Score, Summed
from distsvm.structures.classes.task import ClassTask
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class ClassCounts(Summed):
    """Losses and counts of some examples."""

    score: Score
    counts: Counts
    unseen: Counter[str]


def counted(worker: ShardWorker, w: np.ndarray) -> ClassCounts:
    oracle: Any = worker.oracle
    if oracle.truth is None:
        raise DataError("the data has no labels")
    predicted = oracle.decode(oracle.view(w), np.arange(oracle.n))
    counts = Counts.of(oracle.truth, predicted, oracle.task.labels.size)
    return ClassCounts(worker.score(predicted), counts, oracle.unseen())


def facts(task: ClassTask, total: ClassCounts) -> dict[str, Any]:
    score, rows = total.score, total.counts.by_label("examples")
    found = {
        "n_examples": score.n_examples,
        "accuracy": score.accuracy,
        "mean_loss": score.mean_loss,
        "classes": task.labels.tolist(),
        "by_class": rows,
        # The F1 of a class that training did not see is 0.
        "macro_f1": sum(row["f1"] for row in rows) / (len(rows) + len(total.unseen)),
        "unseen": dict(total.unseen),
    }
    if total.counts.confusion.size:
        found["confusion"] = total.counts.confusion
    return found


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    overall = [
        ("accuracy", f"{facts['accuracy']:.4f}"),
        ("macro F1", f"{facts['macro_f1']:.4f}"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", in_words(facts["n_examples"], "example")),
    ]
    labels = facts["classes"]
    shown = label_lines("class", labels, facts["by_class"], "examples", output)
    if "confusion" in facts:
        shown += confusion_lines(labels, facts["confusion"], output)
    return [*pairs(overall, output.style, output.width), "", *shown]


SCORES = Scores("accuracy, loss, confusions", counted, facts, lines)
