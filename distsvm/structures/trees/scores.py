"""Scores of trees, as evalb defines them, and the number of sentences without a tree."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from distsvm.cli.formatting import count, pairs, share, small
from distsvm.cli.formatting import counted as in_words
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.messages import Score
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree_scores import TreeScore, scored_trees
from distsvm.workers.shard_worker import ShardWorker


class TreeCounts(NamedTuple):
    """Losses and brackets of some sentences, and the number left out; counts add up."""

    score: Score
    trees: TreeScore
    n_left_out: int
    unseen: Counter[str]

    def __add__(self, other: TreeCounts) -> TreeCounts:  # type: ignore[override]
        return TreeCounts(*map(add, self, other))


def counted(worker: ShardWorker, w: np.ndarray) -> TreeCounts:
    found, scores = scored_trees(worker, w)
    unseen = worker.oracle.unseen()
    return TreeCounts(worker.score(found), reduce(add, scores), worker.n_left_out, unseen)


def facts(task: ParseTask, total: TreeCounts) -> dict[str, Any]:
    trees = total.trees
    return {
        "n_examples": trees.n_sentences,
        "n_left_out": total.n_left_out,
        "precision": trees.precision,
        "recall": trees.recall,
        "f1": trees.f1,
        "exact_match": trees.exact_match,
        "n_outside": trees.n_outside,
        "n_true": trees.n_true,
        "n_predicted": trees.n_predicted,
        "n_matched": trees.n_matched,
        "mean_loss": total.score.mean_loss,
        "unseen": dict(total.unseen),
    }


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    n, outside, left_out = (facts[name] for name in ("n_examples", "n_outside", "n_left_out"))
    shorter = f", without {in_words(left_out, 'longer one')} (--max-length)" if left_out else ""
    brackets = (
        f"{count(facts['n_matched'])} right, of {count(facts['n_true'])} true and "
        f"{count(facts['n_predicted'])} predicted"
    )
    rows = [
        ("F1", f"{facts['f1']:.4f}, of labelled brackets, as evalb has it"),
        ("precision", f"{facts['precision']:.4f}"),
        ("recall", f"{facts['recall']:.4f}"),
        ("exact match", f"{facts['exact_match']:.4f}"),
        ("brackets", brackets),
        ("no tree", f"for {in_words(outside, 'sentence')} ({share(outside, n)}) outside the "
                    "grammar or too long for --memory-mb; a flat one is scored"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", f"{in_words(n, 'sentence')}{shorter}"),
    ]  # fmt: skip
    return pairs(rows, output.style, output.width)


SCORES = Scores(
    "labelled precision, recall, F1 and exact match, as evalb has them", counted, facts, lines
)
