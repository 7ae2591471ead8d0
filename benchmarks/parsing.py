"""Parsing: the Penn Treebank sample, trained for three losses, against the same grammar's PCFG.

Run: python benchmarks/parsing.py                 (about 30 minutes; --quick: about 1 minute)
     python benchmarks/parsing.py --spans TEMPLATES [--quick]    (features of spans, or default)

Sentences of at most 15 and at most 40 words, on their tags; a seeded split, 80 to 20. There are so
few short sentences that one split is too noisy: at most 15 words are split with ten seeds, and the
scores are those of all ten test sets together. The PCFG has the relative frequencies of the
rules as its weights; trainings start from nothing and have the same grammar. C (per example, for
a loss of at most 1) is chosen out of three, the same for all losses, by F1 in a threefold
cross-validation within the training trees; for sentences of at most 40 words it is the one that was
chosen most often for those of at most 15, and the solver is multi-plane. F1 and exact match are
evalb's; a sentence outside the grammar has a flat tree, and is counted.

With --spans, sentences of at most 15 words are trained for F1 with the rules alone and with these
features of spans beside them, C chosen for each in the same way.

Wanted: training for F1 (sentences of at most 15 words) has a higher F1 than the PCFG. For
orientation: in the 1-slack paper parsing spends 98% of its time in the oracle.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Callable

from support import machine, n_passes, penn, rounds_s, table, verdict

from distsvm import TrainResult, train
from distsvm.model import Model
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import TreeScore, score_trees

LOSSES = ("zero-one", "brackets", "f1")
COLUMNS = (
    "trained for", "F1", "precision", "recall", "exact", "outside", "C", "oracle calls", "passes",
    "largest gap", "ended by", "seconds", "in the oracle",
)  # fmt: skip
C_PER_EXAMPLE = (0.1, 0.3, 1.0)
N_SPLITS = 10
FIRST_SEED = 100  # the splits below were looked at while the choices above were made
N_FOLDS = 3
LIMIT_S = 30.0  # of one training on short sentences; most end before
LONG_LIMIT_S = 400.0


def task_for(losses: str, spans: str | None = None) -> ParseTask:
    scale = 100.0 if losses == "zero-one" else 1.0
    return ParseTask(losses, loss_scale=scale, span_features=spans)


def scored(model: Model, trees: list[Tree]) -> TreeScore:
    return score_trees(trees, model.predict([tree.sentence() for tree in trees]))


def trained(
    losses: str, trees: list[Tree], C: float, seconds: float, solver: str = "auto",
    spans: str | None = None,
) -> TrainResult:  # fmt: skip
    """Trained for this loss; C is per example and for a loss of at most 1."""
    task = task_for(losses, spans)
    return train(
        task,
        [tree.sentence() for tree in trees],
        trees,
        C=C * len(trees) * task.loss_scale,
        rel_gap=0.02,
        eps=0.0,
        max_seconds=seconds,
        solver=solver,
    )


def chosen_C(losses: str, trees: list[Tree], spans: str | None = None) -> float:
    """The C of the best F1 over the trees, each parsed by a model that has not seen it."""
    f1 = {}
    for C in C_PER_EXAMPLE:
        total = TreeScore()
        for fold in range(N_FOLDS):
            kept = [tree for i, tree in enumerate(trees) if i % N_FOLDS != fold]
            model = trained(losses, kept, C, LIMIT_S, spans=spans).model
            total += scored(model, trees[fold::N_FOLDS])
        f1[C] = total.f1
    return max(f1, key=f1.__getitem__)


class Tally:
    """What the trainings for one loss came to, over all splits."""

    def __init__(self) -> None:
        self.score = TreeScore()
        self.choices: list[float] = []
        self.runs: list[TrainResult] = []

    def add(self, score: TreeScore, C: float, result: TrainResult) -> None:
        self.score += score
        self.choices.append(C)
        self.runs.append(result)

    def row(self, name: str) -> tuple[str, ...]:
        score, runs = self.score, self.runs
        scores = (
            name, f"{100 * score.f1:.2f}%", f"{100 * score.precision:.2f}%",
            f"{100 * score.recall:.2f}%", f"{100 * score.exact_match:.2f}%",
            f"{score.n_outside} of {score.n_sentences}",
        )  # fmt: skip
        if not runs:
            return (*scores, *("",) * 7)
        counts = Counter(self.choices)
        calls = [run.n_oracle_calls for run in runs]
        passes = [n_passes(run) for run in runs]
        total = sum(rounds_s(run) for run in runs)
        in_oracle = sum(run.seconds["oracle"] for run in runs)
        return (
            *scores, " ".join(f"{C:g}×{n}" for C, n in sorted(counts.items())),
            f"{sum(calls) / len(runs):,.0f}", f"{sum(passes) / len(runs):.0f}",
            f"{100 * max(run.gap / run.primal for run in runs):.1f}%",
            ", ".join(sorted({run.stop_reason for run in runs})), f"{total / len(runs):.1f}",
            f"{100 * in_oracle / total:.0f}%",
        )  # fmt: skip


def compare(
    folder: str,
    max_length: int,
    seeds: range,
    choose: Callable[[str, list[Tree]], float],
    seconds: float,
    solver: str = "auto",
) -> dict[str, Tally]:
    """Train for every loss on every split, and print a row each."""
    tallies = {name: Tally() for name in ("PCFG", *LOSSES)}
    for seed in seeds:
        trees, test = penn(folder, max_length, seed)
        for losses in LOSSES:
            C = choose(losses, trees)
            result = trained(losses, trees, C, seconds, solver)
            tallies[losses].add(scored(result.model, test), C, result)
        task = result.model.task
        assert isinstance(task, ParseTask)
        tallies["PCFG"].score += scored(Model(task, task.likelihood_weights()), test)
        found = {name: f"{100 * tally.score.f1:.2f}%" for name, tally in tallies.items()}
        print(f"  after split {seed}: F1 {found}", flush=True)
    print(
        f"At most {max_length} words: {len(trees)} training trees, {len(test)} for testing, "
        f"{len(seeds)} splits; calls, passes and seconds are means of a training"
    )
    table(COLUMNS, [tally.row(name) for name, tally in tallies.items()])
    difference = 100 * (tallies["f1"].score.f1 - tallies["PCFG"].score.f1)
    kept = verdict(difference > 0)
    print(f"F1 less the PCFG's: {difference:+.2f} points, wanted above 0: {kept}\n", flush=True)
    return tallies


def with_spans(folder: str, seeds: range, spans: str) -> None:
    """Train for F1 with rules alone and with span features on every split; print a row each."""
    names = {"rules alone": None, f"with spans: {spans}": spans}
    tallies = {name: Tally() for name in names}
    for seed in seeds:
        trees, test = penn(folder, 15, seed)
        for name, own in names.items():
            C = chosen_C("f1", trees, own)
            result = trained("f1", trees, C, LIMIT_S, spans=own)
            tallies[name].add(scored(result.model, test), C, result)
        found = {name: f"{100 * tally.score.f1:.2f}%" for name, tally in tallies.items()}
        print(f"  after split {seed}: F1 {found}", flush=True)
    table(COLUMNS, [tally.row(name) for name, tally in tallies.items()])
    rules, more = (tally.score.f1 for tally in tallies.values())
    kept = verdict(more > rules)
    print(f"F1 less that of rules: {100 * (more - rules):+.2f} points, wanted above 0: {kept}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 15 words, one split")
    parser.add_argument(
        "--seconds", type=float, default=LONG_LIMIT_S, help="limit of each training at 40 words"
    )
    parser.add_argument("--spans", help="compare these features of spans with rules alone")
    args = parser.parse_args()
    logging.getLogger("distsvm").setLevel(logging.ERROR)  # the table counts sentences outside
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for losses in LOSSES:
            trained(losses, penn(folder, 5)[0], 1.0, LIMIT_S)  # compile
        n_splits = 1 if args.quick else N_SPLITS
        if args.spans is not None:
            with_spans(folder, range(FIRST_SEED, FIRST_SEED + n_splits), args.spans)
            return
        short = compare(folder, 15, range(FIRST_SEED, FIRST_SEED + n_splits), chosen_C, LIMIT_S)
        if args.quick:
            return
        usual = {losses: Counter(short[losses].choices).most_common(1)[0][0] for losses in LOSSES}
        compare(
            folder,
            40,
            range(FIRST_SEED, FIRST_SEED + 1),
            lambda losses, _: usual[losses],
            args.seconds,
            "multi-plane",  # an oracle this dear is asked as seldom as can be
        )


if __name__ == "__main__":
    main()
