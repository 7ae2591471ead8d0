"""Parsing: the Penn Treebank sample, trained for three losses, against the same grammar's PCFG.

Run: python benchmarks/parsing.py                 (about 25 minutes; --quick: about 2 minutes)

Sentences of at most 15 and at most 40 words, on their tags; a seeded split, 80 to 20. The PCFG has
the relative frequencies of the rules as its weights; each training starts from nothing and has the
same grammar. C is chosen out of three, the same three for all losses (they are C per example, for a
loss of at most 1), by F1 on a tenth of the training trees that were held out for it; then all
training trees are trained on. F1 and exact match are evalb's, over the test trees; a sentence
outside the grammar has a flat tree, and is counted.

Wanted: training for F1 (sentences of at most 15 words) has a higher F1 than the PCFG. For
orientation: the paper (table 1 of the 1-slack paper) has 98% of the time in the oracle.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from dataclasses import dataclass, replace

from support import machine, penn, table

from distsvm import TrainResult, train
from distsvm.data.tree_scores import TreeScore, score_trees
from distsvm.data.trees import Tree
from distsvm.model import Model
from distsvm.tasks.parse import ParseTask

HELD_OUT = 10  # of so many training trees one
C_PER_EXAMPLE = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Setting:
    """A length of sentences: the losses to train for, and the limit of each training."""

    max_length: int
    losses: tuple[str, ...]
    seconds: float


SETTINGS = (
    Setting(15, ("zero-one", "brackets", "f1"), 60.0),
    Setting(40, ("zero-one", "brackets"), 150.0),
)


def task_for(losses: str) -> ParseTask:
    return ParseTask(losses, loss_scale=100.0 if losses == "zero-one" else 1.0)


def scored(model: Model, trees: list[Tree]) -> TreeScore:
    return score_trees(trees, model.predict([tree.sentence() for tree in trees]))


def trained(losses: str, trees: list[Tree], C: float, seconds: float) -> TrainResult:
    """Trained for this loss; C is per example and for a loss of at most 1."""
    task = task_for(losses)
    return train(
        task,
        [tree.sentence() for tree in trees],
        trees,
        C=C * len(trees) * task.loss_scale,
        rel_gap=0.01,
        eps=0.0,
        max_seconds=seconds,
    )


def chosen_C(losses: str, trees: list[Tree], seconds: float) -> float:
    """The C of the best F1 on trees that were held out."""
    held = trees[::HELD_OUT]
    kept = [tree for i, tree in enumerate(trees) if i % HELD_OUT]
    f1 = {C: scored(trained(losses, kept, C, seconds).model, held).f1 for C in C_PER_EXAMPLE}
    print(
        f"  {losses}: F1 on {len(held)} trees held out "
        + ", ".join(f"{100 * value:.2f}% at C = {C:g}" for C, value in f1.items()),
        flush=True,
    )
    return max(f1, key=f1.__getitem__)


def row(name: str, score: TreeScore, *run: str) -> tuple[str, ...]:
    return (
        name, f"{100 * score.f1:.2f}%", f"{100 * score.precision:.2f}%",
        f"{100 * score.recall:.2f}%", f"{100 * score.exact_match:.2f}%", str(score.n_outside),
        *(run or ("",) * 7),
    )  # fmt: skip


def compare(setting: Setting, folder: str) -> None:
    trees, test = penn(folder, setting.max_length)
    print(
        f"At most {setting.max_length} words: {len(trees)} training trees, {len(test)} for testing"
    )
    rows, f1 = [], {}
    baseline: Model | None = None
    for losses in setting.losses:
        C = chosen_C(losses, trees, setting.seconds / 2)
        result = trained(losses, trees, C, setting.seconds)
        if baseline is None:
            task = result.model.task
            assert isinstance(task, ParseTask)
            baseline = Model(task, task.likelihood_weights())
            score = scored(baseline, test)
            f1["PCFG"] = score.f1
            rows.append(row("PCFG", score))
        score = scored(result.model, test)
        f1[losses] = score.f1
        seconds = result.seconds
        rows.append(
            row(
                losses, score, f"{C:g}", f"{result.n_oracle_calls:,}",
                f"{result.n_oracle_calls / len(trees):.0f}",
                f"{100 * result.gap / result.primal:.1f}%", result.stop_reason,
                f"{seconds['total']:.1f}", f"{100 * seconds['oracle'] / seconds['total']:.0f}%",
            )
        )  # fmt: skip
    table(
        ("trained for", "F1", "precision", "recall", "exact", "outside", "C", "oracle calls",
         "passes", "gap", "ended by", "seconds", "in the oracle"),
        rows,
    )  # fmt: skip
    if "f1" in f1:
        better = f1["f1"] > f1["PCFG"]
        print(
            f"F1 less the PCFG's: {100 * (f1['f1'] - f1['PCFG']):+.2f} points, wanted above 0: "
            f"{'yes' if better else 'NO'}"
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 15 words, 8 s a training")
    args = parser.parse_args()
    logging.getLogger("distsvm").setLevel(logging.ERROR)  # the table counts sentences outside
    print(machine())
    settings = (replace(SETTINGS[0], seconds=8.0),) if args.quick else SETTINGS
    with tempfile.TemporaryDirectory() as folder:
        for setting in settings:
            compare(setting, folder)


if __name__ == "__main__":
    main()
