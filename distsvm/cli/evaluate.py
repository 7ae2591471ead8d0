"""`distsvm evaluate`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, labelled_data
from distsvm.cli.formatting import count, counted, pairs, small, table
from distsvm.cli.options import WHERE, add_place, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.streaming import over_shards
from distsvm.errors import DataError
from distsvm.messages import Score
from distsvm.model import load_model
from distsvm.tasks.classes import ClassTask
from distsvm.workers.shard_worker import ShardWorker

SHOWN_CLASSES = 20
KEPT_CLASSES = 200


@dataclass(frozen=True, eq=False)
class Counts:
    """How many examples each class has, was predicted for, and both; counts add up.

    `confusion` has a row a true class and a column a predicted one, and none of either where
    there are very many classes.
    """

    score: Score
    true: np.ndarray
    predicted: np.ndarray
    hits: np.ndarray
    confusion: np.ndarray

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.score + other.score,
            self.true + other.true,
            self.predicted + other.predicted,
            self.hits + other.hits,
            self.confusion + other.confusion,
        )

    def by_class(self) -> list[dict[str, float]]:
        """Precision, recall, F1 and number of examples; 0 where there is nothing to divide by."""
        found = []
        columns = (self.hits.tolist(), self.predicted.tolist(), self.true.tolist())
        for h, p, t in zip(*columns, strict=True):
            precision, recall = h / p if p else 0.0, h / t if t else 0.0
            both = precision + recall
            f1 = 2 * precision * recall / both if both else 0.0
            found.append({"precision": precision, "recall": recall, "f1": f1, "n_examples": t})
        return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "distsvm evaluate --model DIR --data FILE … [options]"
    parser.add_argument("--model", required=True, metavar="DIR", help="folder of the model")
    add_data(parser)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    place = given_config(args, WHERE)
    check_config(place)
    model = load_model(args.model)
    classes = isinstance(model.task, ClassTask)
    function = _counted if classes else ShardWorker.evaluate
    shards = over_shards(function, model, labelled_data(args), place, output)
    total = reduce(add, shards)
    score: Score = total.score if classes else total
    facts: dict[str, Any] = {
        "n_examples": score.n_examples,
        "accuracy": score.accuracy,
        "mean_loss": score.mean_loss,
    }
    if classes:
        facts["classes"] = labels = model.task.labels.tolist()  # type: ignore[attr-defined]
        facts["by_class"] = rows = total.by_class()
        facts["macro_f1"] = float(np.mean([row["f1"] for row in rows]))
        if total.confusion.size:
            facts["confusion"] = total.confusion
    output.record("result", facts)
    output.show(*pairs(_overall(facts), output.style, output.width))
    if classes:
        output.show("", *_class_lines([str(label) for label in labels], total, output))
    return exits.DONE


def _counted(worker: ShardWorker, w: np.ndarray) -> Counts:
    oracle: Any = worker.oracle
    if oracle.truth is None:
        raise DataError("the data has no labels")
    true = oracle.truth.astype(np.int64)
    predicted = oracle.decode(oracle.view(w), np.arange(oracle.n))
    k = oracle.task.labels.size
    kept = k if k <= KEPT_CLASSES else 0
    cells = np.bincount((true * k + predicted)[: oracle.n if kept else 0], minlength=kept * kept)
    return Counts(
        worker.evaluate(w),
        true=np.bincount(true, minlength=k),
        predicted=np.bincount(predicted, minlength=k),
        hits=np.bincount(true[true == predicted], minlength=k),
        confusion=cells.reshape(kept, kept),
    )


def _overall(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("accuracy", f"{facts['accuracy']:.4f}"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", counted(facts["n_examples"], "example")),
    ]
    if "macro_f1" in facts:
        rows.insert(1, ("macro F1", f"{facts['macro_f1']:.4f}"))
    return rows


def _class_lines(labels: list[str], counts: Counts, output: Output) -> list[str]:
    rows = [
        [label, *(f"{row[name]:.4f}" for name in ("precision", "recall", "f1")),
         count(int(row["n_examples"]))]
        for label, row in zip(labels, counts.by_class(), strict=True)
    ]  # fmt: skip
    lines = table(["class", "precision", "recall", "F1", "examples"], rows, output.style)
    if len(labels) > SHOWN_CLASSES:
        return lines
    cells = [
        [label, *(str(n) if n else "·" for n in row)]
        for label, row in zip(labels, counts.confusion.tolist(), strict=True)
    ]
    head = table(["true \\ predicted", *labels], cells, output.style)
    return [*lines, "", *head]
