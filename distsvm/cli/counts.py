"""Counts of true, predicted and correct labels, of examples or tokens, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cli.formatting import count, table
from distsvm.cli.output import Output

SHOWN_LABELS = 20
KEPT_LABELS = 200


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts by label: true, predicted, and both (`hits`). Counts of several shards can be added.

    `confusion` has a row for each true label and a column for each predicted one; with more than
    KEPT_LABELS labels it is empty.
    """

    true: np.ndarray
    predicted: np.ndarray
    hits: np.ndarray
    confusion: np.ndarray

    @classmethod
    def of(cls, true: np.ndarray, predicted: np.ndarray, n_labels: int) -> Counts:
        """Return the counts of labels that are numbers below n_labels.

        Larger true labels are unknown to the model: only their predictions count.
        """
        kept = n_labels if n_labels <= KEPT_LABELS else 0
        known = true < n_labels
        guessed = np.bincount(predicted, minlength=n_labels)
        true, predicted = true[known].astype(np.int64), predicted[known]
        pairs = (true * n_labels + predicted)[: true.size if kept else 0]
        return cls(
            true=np.bincount(true, minlength=n_labels),
            predicted=guessed,
            hits=np.bincount(true[true == predicted], minlength=n_labels),
            confusion=np.bincount(pairs, minlength=kept * kept).reshape(kept, kept),
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.true + other.true,
            self.predicted + other.predicted,
            self.hits + other.hits,
            self.confusion + other.confusion,
        )

    def by_label(self, noun: str) -> list[dict[str, float]]:
        """Return precision, recall, F1 and n_`noun` of each label; 0 / 0 counts as 0."""
        found = []
        columns = (self.hits.tolist(), self.predicted.tolist(), self.true.tolist())
        for h, p, t in zip(*columns, strict=True):
            precision, recall = h / p if p else 0.0, h / t if t else 0.0
            both = precision + recall
            f1 = 2 * precision * recall / both if both else 0.0
            found.append({"precision": precision, "recall": recall, "f1": f1, f"n_{noun}": t})
        return found


def label_lines(
    kind: str, labels: Sequence[Any], rows: Sequence[dict[str, float]], noun: str, output: Output
) -> list[str]:
    """Return a table with the scores of each label; `kind` is the head of the labels."""
    cells = [
        [str(label), *(f"{row[name]:.4f}" for name in ("precision", "recall", "f1")),
         count(int(row[f"n_{noun}"]))]
        for label, row in zip(labels, rows, strict=True)
    ]  # fmt: skip
    return table([kind, "precision", "recall", "F1", noun], cells, output.style)


def confusion_lines(labels: Sequence[Any], confusion: np.ndarray, output: Output) -> list[str]:
    """Return a table of true and predicted labels, unless there are more than SHOWN_LABELS."""
    if len(labels) > SHOWN_LABELS:
        return []
    names = [str(label) for label in labels]
    cells = [
        [name, *(str(n) if n else "·" for n in row)]
        for name, row in zip(names, confusion.tolist(), strict=True)
    ]
    return ["", *table(["true \\ predicted", *names], cells, output.style)]
