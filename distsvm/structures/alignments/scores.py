"""Scores of alignments: homologues that are found, and pairs of letters that are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cli.formatting import count, pairs, small
from distsvm.cli.formatting import counted as in_words
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.messages import Score
from distsvm.structures.alignments.answers import alignments_of, pair_counts
from distsvm.structures.alignments.task import AlignmentTask
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class AlignmentCounts:
    """Losses of some examples, and pairs of letters in the homologues that are found; they add up.

    Pairs are true ones, predicted ones, and those that are both.
    """

    score: Score
    n_found: int
    pairs: np.ndarray

    def __add__(self, other: AlignmentCounts) -> AlignmentCounts:
        return AlignmentCounts(
            self.score + other.score, self.n_found + other.n_found, self.pairs + other.pairs
        )


def counted(worker: ShardWorker, w: np.ndarray) -> AlignmentCounts:
    found, right = alignments_of(worker, w)
    return AlignmentCounts(worker.score(found), int(right.sum()), pair_counts(worker, found, right))


def facts(task: AlignmentTask, total: AlignmentCounts) -> dict[str, Any]:
    true, predicted, both = total.pairs.tolist()
    return {
        "n_examples": total.score.n_examples,
        "accuracy": total.score.accuracy,
        "n_homologues_found": total.n_found,
        "pair_precision": both / predicted if predicted else 0.0,
        "pair_recall": both / true if true else 0.0,
        "n_true_pairs": true,
        "n_predicted_pairs": predicted,
        "n_matched_pairs": both,
        "mean_loss": total.score.mean_loss,
    }


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    found, n = facts["n_homologues_found"], facts["n_examples"]
    rows = [
        ("accuracy", f"{facts['accuracy']:.4f}, the share of examples without loss"),
        ("homologues", f"{count(found)} of {count(n)} found"),
        ("precision", f"{facts['pair_precision']:.4f} of their predicted pairs of letters"),
        ("recall", f"{facts['pair_recall']:.4f} of their true pairs of letters"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", in_words(n, "example")),
    ]
    return pairs(rows, output.style, output.width)


SCORES = Scores(
    "homologues that are found, and precision and recall of pairs of letters in them; an alignment "
    "that the data does not give is the best one under the model's --reference",
    counted,
    facts,
    lines,
)
