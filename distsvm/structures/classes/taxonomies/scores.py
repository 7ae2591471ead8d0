"""Scores of taxonomies: accuracy by level, tree loss, hierarchical precision, recall and F1."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cli.counts import Counts, label_lines
from distsvm.cli.formatting import counted as in_words
from distsvm.cli.formatting import pairs, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.errors import DataError
from distsvm.messages import Score, Summed
from distsvm.structures.classes.taxonomies.measures import TreeCounts, tree_counts
from distsvm.structures.classes.taxonomies.task import TaxonomyTask
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class TaxonomyCounts(Summed):
    """Losses and counts of some examples; `branches` counts the nodes below the root."""

    score: Score
    tree: TreeCounts
    branches: Counts
    unseen: Counter[str]


def counted(worker: ShardWorker, w: np.ndarray) -> TaxonomyCounts:
    oracle: Any = worker.oracle
    task: TaxonomyTask = oracle.task
    if oracle.truth is None:
        raise DataError("the data has no labels")
    predicted = oracle.decode(oracle.view(w), np.arange(oracle.n))
    branches, own = _branches(task)
    k = own.size
    true = np.where(oracle.truth < k, own[np.minimum(oracle.truth, k - 1)], branches.size)
    return TaxonomyCounts(
        worker.score(predicted),
        tree_counts(task, oracle.truth, oracle.others, predicted),
        Counts.of(true, own[predicted], branches.size),
        oracle.unseen(),
    )


def _branches(task: TaxonomyTask) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes below the root, and the number of each class's one among them."""
    assert task.places is not None
    branches = np.flatnonzero(task.tree.parents == 0)
    return branches, np.searchsorted(branches, task.places, side="right") - 1


def facts(task: TaxonomyTask, total: TaxonomyCounts) -> dict[str, Any]:
    score = total.score
    return {
        "n_examples": score.n_examples,
        "accuracy": score.accuracy,
        "mean_loss": score.mean_loss,
        **total.tree.scores(),
        "branches": [task.tree.paths[node] for node in _branches(task)[0].tolist()],
        "by_branch": total.branches.by_label("examples"),
        "unseen": dict(total.unseen),
    }


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    levels = ", ".join(f"{share:.4f}" for share in facts["accuracy_by_level"])
    overall = [
        ("accuracy", f"{facts['accuracy']:.4f}"),
        ("by level", levels),
        ("tree loss", f"{facts['tree_loss']:.4f}"),
        ("hierarchical", f"precision {facts['h_precision']:.4f}, recall {facts['h_recall']:.4f}, "
         f"F1 {facts['h_f1']:.4f}"),
        ("mean loss", small(facts["mean_loss"])),
        ("data", in_words(facts["n_examples"], "example")),
    ]  # fmt: skip
    shown = label_lines("branch", facts["branches"], facts["by_branch"], "examples", output)
    return [*pairs(overall, output.style, output.width), "", *shown]


SCORES = Scores(
    "accuracy, accuracy by level, tree loss, hierarchical precision, recall and F1, loss",
    counted,
    facts,
    lines,
)
"""Hierarchical ones are those of the nodes above both, as the package hiclass defines them."""
