"""Parsing with squared slacks: Table 5 of Tsochantaridis et al. (2005) on the Penn Treebank sample.

Run: python benchmarks/parse_penalties.py         (about 10 minutes; --quick: one split, 10 s each)

Sentences of at most 10 words on their tags: the PCFG, and n-slack with the quadratic penalty for
the zero-one loss and for F1 by slack and by margin rescaling; C = 1 for each example and ε = 0.01
of the loss 1, or the limit of seconds, which `> limit` marks. Seeded splits, 80 to 20, with one
grammar of a split's training trees for all methods; scores are those of all test sets together, F1
is evalb's. McNemar's exact test compares exact matches with the PCFG's. |S| is the planes added.

Orientation, from public copies of the 2004 version (4,098 and 163 sentences of the whole WSJ; test
exact match and F1, constraints, share of the QP): PCFG 55.2 and 86.0; SVM2 58.9 and 86.2, 7,494,
81.6 %; slack 58.9 and 88.5, 8,043, 10.5 %; margin 58.3 and 88.4, 7,117, 18.0 %. The sample has a
tenth of these sentences.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Sequence
from math import comb

import numpy as np
from support import machine, penn, table

from distsvm import TrainResult, train
from distsvm.model import Model
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import TreeScore, score_trees

METHODS = {
    "SVM2 zero-one": ("zero-one", "margin"),
    "SVM2 F1, slack": ("f1", "slack"),
    "SVM2 F1, margin": ("f1", "margin"),
}
N_SPLITS, FIRST_SEED = 5, 300


class Tally:
    """One method over all splits."""

    def __init__(self) -> None:
        self.train, self.test = TreeScore(), TreeScore()
        self.right: list[bool] = []
        self.runs: list[TrainResult] = []

    def add(self, model: Model, trees: Sequence[Tree], test: Sequence[Tree]) -> None:
        """Score a model of one split."""
        found = model.predict([tree.sentence() for tree in test])
        self.train += score_trees(trees, model.predict([tree.sentence() for tree in trees]))
        self.test += score_trees(test, found)
        self.right += [tree == other for tree, other in zip(test, found, strict=True)]

    def row(self, name: str, than: Tally) -> list[str]:
        """Return the method's line; `than` is the one that McNemar's test compares it with."""
        scores = [
            f"{100 * value:.2f}%"
            for score in (self.train, self.test) for value in (score.exact_match, score.f1)
        ]  # fmt: skip
        if not self.runs:
            return [name, *scores, "", "", "", "", ""]
        runs, n = self.runs, len(self.runs)
        total = sum(run.seconds["total"] for run in runs)
        over = "" if all(run.stop_reason == "eps" for run in runs) else "> limit "
        return [
            name, *scores, f"{mcnemar(self.right, than.right):.3g}",
            f"{sum(run.own['n_added'] for run in runs) / n:,.0f}",
            f"{sum(run.n_oracle_calls for run in runs) / n:,.0f}",
            f"{over}{total / n:.1f}",
            f"{100 * sum(run.seconds['qp'] for run in runs) / total:.0f}%",
        ]  # fmt: skip


def mcnemar(one: Sequence[bool], two: Sequence[bool]) -> float:
    """Return the two-sided p of McNemar's exact test: are as many won as lost?"""
    a, b = np.array(one), np.array(two)
    won, lost = int((a & ~b).sum()), int((b & ~a).sum())
    n = won + lost
    return min(1.0, 2.0 * sum(comb(n, k) for k in range(min(won, lost) + 1)) / 2.0**n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one split, 10 s a training")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a training")
    args = parser.parse_args()
    logging.getLogger("distsvm").setLevel(logging.ERROR)  # sentences outside the grammar count
    print(machine())
    tallies = {name: Tally() for name in ("PCFG", *METHODS)}
    with tempfile.TemporaryDirectory() as folder:
        for split in range(1 if args.quick else N_SPLITS):
            trees, test = penn(folder, 10, FIRST_SEED + split)
            inputs = [tree.sentence() for tree in trees]
            for name, (losses, rescaling) in METHODS.items():
                result = train(
                    ParseTask(losses), inputs, trees, C_per_example=1.0, eps=0.01,
                    penalty="quadratic", rescaling=rescaling, solver="n-slack", executor="serial",
                    max_seconds=10.0 if args.quick else args.seconds,
                )  # fmt: skip
                tallies[name].runs.append(result)
                tallies[name].add(result.model, trees, test)
            task = result.model.task
            assert isinstance(task, ParseTask)
            tallies["PCFG"].add(Model(task, task.likelihood_weights()), trees, test)
    print(f"{len(trees)} training trees and {len(test)} for testing in each split")
    table(
        ["method", "train exact", "train F1", "exact", "F1", "McNemar p", "|S|", "oracle calls",
         "seconds", "QP"],
        [tally.row(name, tallies["PCFG"]) for name, tally in tallies.items()],
    )  # fmt: skip


if __name__ == "__main__":
    main()
