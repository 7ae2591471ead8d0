"""Tagging: UD English EWT, XPOS tags, against python-crfsuite with the very same features.

Run: python benchmarks/tagging.py                 (about 25 minutes; --quick: about 2 minutes)

Features of a token: the word and its prefixes and suffixes to 6 letters, of the token itself and of
its two neighbours, and its shape. crfsuite gets the names of the features in our own packed rows.
Each side has one number to choose (our C, its c2 for L-BFGS), out of three, by accuracy on the
development set; the test set is then asked once. The sides are bounded alike for every choice: ours
by seconds, its by iterations. A pass is one oracle call (ours) or one evaluation of likelihood and
gradient (its) for every sentence. Our gap is certified; it has none, and stops by its own rule.

Wanted: test accuracy at least crfsuite's less 0.1 points.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from support import machine, peer, table, ud_ewt

from distsvm import train
from distsvm.data.readers.conllu import ConlluData
from distsvm.data.tagging_scores import score_tags
from distsvm.tasks.sequence import SequenceTask

TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"
OUR_C = (300.0, 1_000.0, 3_000.0)
CRF_C2 = (0.3, 1.0, 3.0)
WANTED = -0.1
QUICK_SENTENCES = 1_500


@dataclass(frozen=True)
class Trained:
    """One training of either side: how it went, and what it is worth."""

    choice: str
    model: Any
    seconds: float
    n_passes: float
    bound: str
    ended: str
    dev: float


class Sentences:
    """A part of the treebank: as files for us, as lists of feature names for crfsuite."""

    def __init__(self, path: str) -> None:
        self.data = ConlluData(path, templates=TEMPLATES)
        (spec,) = self.data.specs(1)
        shard = spec.load()
        self.tags, names = shard.y, shard.x.names.tolist()
        _, columns, entries = shard.x.tokens.arrays()
        columns, entries = columns.tolist(), entries.tolist()
        tokens = [[names[j] for j in columns[a:b]] for a, b in pairwise(entries)]
        starts = shard.x.starts.tolist()
        self.features = [tokens[a:b] for a, b in pairwise(starts)]
        words = shard.y.names[shard.y.codes.values].tolist()
        self.labels = [words[a:b] for a, b in pairwise(starts)]

    def accuracy(self, predicted: list[list[str]]) -> float:
        return score_tags(self.tags, predicted).accuracy


# --- the two sides ---------------------------------------------------------------------------


def ours(given: Sentences, dev: Sentences, C: float, seconds: float) -> Trained:
    started = time.perf_counter()
    result = train(SequenceTask(), given.data, C=C, eps=0.1, max_seconds=seconds)
    took = time.perf_counter() - started
    print(f"C = {C:g}: seconds {shown(result.seconds)}, {result.n_rounds} rounds", flush=True)
    return Trained(
        f"C = {C:g}",
        lambda sentences: result.model.predict(sentences.data),
        took,
        result.n_oracle_calls / len(given.labels),
        f"{result.gap / result.C:.3f}",
        result.stop_reason,
        dev.accuracy(result.model.predict(dev.data)),
    )


def crfsuite(given: Sentences, dev: Sentences, c2: float, n_iterations: int) -> Trained:
    pycrfsuite = peer("pycrfsuite")
    path = os.path.join(tempfile.mkdtemp(), "model")
    started = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": n_iterations})
    for features, labels in zip(given.features, given.labels, strict=True):
        trainer.append(features, labels)
    trainer.train(path)
    took = time.perf_counter() - started
    last = trainer.logparser.last_iteration
    tagger = pycrfsuite.Tagger()
    tagger.open(path)

    def predict(sentences: Sentences) -> list[list[str]]:
        return [tagger.tag(features) for features in sentences.features]

    n_evaluations = sum(int(step["linesearch_trials"]) for step in trainer.logparser.iterations)
    ended = "max_iterations" if int(last["num"]) >= n_iterations else "its delta"
    return Trained(
        f"c2 = {c2:g}", predict, took, n_evaluations, "none", ended, dev.accuracy(predict(dev))
    )


def shown(seconds: dict[str, float]) -> str:
    return ", ".join(f"{phase} {value:.1f}" for phase, value in seconds.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SENTENCES} sentences")
    parser.add_argument("--seconds", type=float, default=180, help="limit of each of our trainings")
    parser.add_argument("--iterations", type=int, default=100, help="limit of each of crfsuite's")
    args = parser.parse_args()
    print(machine())
    peer("pycrfsuite")
    if args.quick:
        args.seconds, args.iterations = 15.0, 30
    with tempfile.TemporaryDirectory() as folder:
        n = QUICK_SENTENCES if args.quick else None
        given = Sentences(ud_ewt(folder, "train", n))
        dev, test = Sentences(ud_ewt(folder, "dev")), Sentences(ud_ewt(folder, "test"))
        train(SequenceTask(), given.data, C=1.0, max_rounds=3)  # compile
        sides = {
            "distsvm": [ours(given, dev, C, args.seconds) for C in OUR_C],
            "crfsuite": [crfsuite(given, dev, c2, args.iterations) for c2 in CRF_C2],
        }
        rows, accuracy = [], {}
        for side, runs in sides.items():
            best = max(runs, key=lambda run: run.dev)
            accuracy[side] = 100 * test.accuracy(best.model(test))
            for run in runs:
                rows.append(
                    (side, run.choice, f"{run.seconds:.0f}", f"{run.n_passes:.0f}", run.bound,
                     run.ended, f"{100 * run.dev:.2f}%",
                     f"{accuracy[side]:.2f}%" if run is best else "")
                )  # fmt: skip
    print(f"{len(given.labels)} sentences, {len(given.tags.names)} tags")
    table(("side", "choice", "seconds", "passes", "gap/C", "ended by", "dev", "test"), rows)
    difference = accuracy["distsvm"] - accuracy["crfsuite"]
    print(
        f"Test accuracy less crfsuite's: {difference:+.2f} points, wanted at least {WANTED}: "
        f"{'yes' if difference >= WANTED else 'NO'}"
    )


if __name__ == "__main__":
    main()
