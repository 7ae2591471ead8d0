"""Tagging: UD English EWT, XPOS tags, against python-crfsuite with the very same features.

Run: python benchmarks/tagging.py                 (up to 55 minutes; --quick: about 3 minutes)

Features of a token: the word and its prefixes and suffixes to 6 letters, of the token itself and of
its two neighbours, and its shape. crfsuite gets the names of the features in our own packed rows.
Each side has one number to choose (our C, its c2 for L-BFGS), out of three, by accuracy on the
development set; the test set is then asked once. The sides are bounded alike for every choice: ours
by seconds, its by iterations. One more training is crfsuite as it comes: its defaults, and its own
stopping rule, with a limit of seconds (`> limit` marks one that ended there, without a model). A
pass is one oracle call (ours), one evaluation of likelihood and gradient, or one iteration of its
averaged perceptron or passive-aggressive (its) for every sentence. Our gap is certified; it has
none. The two online methods run 10 and 100 iterations with their defaults, and for each of these
times our best C is trained anew for as long, loading included: who is ahead then?

Wanted: against its defaults at least its accuracy on test, in less time; against its best choice
at most 0.1 points less; the accuracy of 100 iterations of an online method in less time.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from support import feature_lists, limited, machine, peer, table, ud_ewt, verdict

from distsvm import train
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.tag_scores import score_tags
from distsvm.structures.sequences.task import SequenceTask

TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"
OUR_C = (300.0, 1_000.0, 3_000.0)
CRF_C2 = (0.3, 1.0, 3.0)
DEFAULTS = "crfsuite as it comes"
ONLINE = {"ap": "averaged perceptron", "pa": "passive-aggressive"}
ONLINE_ITERATIONS = (10, 100)
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

    @property
    def time(self) -> str:
        return limited(f"{self.seconds:.0f}", self.model is not None)


class Sentences:
    """A part of the treebank: as files for us, as lists of feature names for crfsuite."""

    def __init__(self, path: str) -> None:
        self.data = ConlluData(path, templates=TEMPLATES)
        (spec,) = self.data.specs(1)
        shard = spec.load()
        self.tags = shard.y
        self.features, self.labels = feature_lists(shard)

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


def crfsuite(
    given: Sentences, dev: Sentences, choice: str, params: dict[str, Any], limit_s: float,
    algorithm: str = "lbfgs",
) -> Trained:  # fmt: skip
    pycrfsuite = peer("pycrfsuite")
    path = os.path.join(tempfile.mkdtemp(), "model")
    started = time.perf_counter()

    class Trainer(pycrfsuite.Trainer):
        def message(self, message: str) -> None:  # what it logs at every iteration
            super().message(message)
            if time.perf_counter() - started > limit_s:
                raise TimeoutError

    trainer = Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params(params)
    for features, labels in zip(given.features, given.labels, strict=True):
        trainer.append(features, labels)
    try:
        trainer.train(path)
    except TimeoutError:
        ended = "time"
    else:
        n_iterations = int(trainer.logparser.last_iteration["num"])
        ended = "max_iterations" if n_iterations == params.get("max_iterations") else "its rule"
    took = time.perf_counter() - started
    tagger = pycrfsuite.Tagger()

    def predict(sentences: Sentences) -> list[list[str]]:
        return [tagger.tag(features) for features in sentences.features]

    if ended != "time":
        tagger.open(path)
    model, accuracy = (None, math.nan) if ended == "time" else (predict, dev.accuracy(predict(dev)))
    n_passes = sum(int(step.get("linesearch_trials", 1)) for step in trainer.logparser.iterations)
    print(f"crfsuite, {choice}: {took:.0f} s, {n_passes} passes", flush=True)
    return Trained(choice, model, took, n_passes, "none", ended, accuracy)


def online(
    given: Sentences, dev: Sentences, algorithm: str, C: float
) -> tuple[list[Trained], list[Trained]]:
    """Return crfsuite's trainings by an online method, and one of ours in the time of each."""
    its, in_its_time = [], []
    for n in ONLINE_ITERATIONS:
        choice = f"{ONLINE[algorithm]}, {n} iterations"
        its.append(crfsuite(given, dev, choice, {"max_iterations": n}, math.inf, algorithm))
        in_its_time.append(ours(given, dev, C, its[-1].seconds))
    return its, in_its_time


def shown(seconds: dict[str, float]) -> str:
    return ", ".join(f"{phase} {value:.1f}" for phase, value in seconds.items())


def percent(accuracy: float) -> str:
    return "–" if math.isnan(accuracy) else f"{100 * accuracy:.2f}%"


def verdicts(best: dict[str, Trained], test: dict[str, float]) -> None:
    """Print how the sides' best choices compare, and our best with crfsuite's defaults."""
    if "crfsuite" in best:
        difference = 100 * (test["distsvm"] - test["crfsuite"])
        print(
            f"Test accuracy less that of crfsuite's best choice: {difference:+.2f} points, wanted "
            f"at least {WANTED}: {verdict(difference >= WANTED)}"
        )
    if DEFAULTS not in best:
        return
    ours, its = best["distsvm"], best[DEFAULTS]
    ratio, bound = its.seconds / ours.seconds, "> " if its.model is None else ""
    print(
        f"Time of crfsuite with its defaults / ours: {bound}{ratio:.1f}, wanted more than 1: "
        f"{verdict(ratio > 1, known=not bound)}"
    )
    if its.model is not None:
        difference = 100 * (test["distsvm"] - test[DEFAULTS])
        print(
            f"Test accuracy less that of its defaults: {difference:+.2f} points, wanted at least "
            f"0: {verdict(difference >= 0)}"
        )


def online_rows_of(
    its: list[Trained], in_its_time: list[Trained], test: Sentences
) -> list[tuple[str, ...]]:
    """Return a row for each number of iterations of an online method, with who is ahead."""
    rows = []
    for theirs, own in zip(its, in_its_time, strict=True):
        accuracies = [test.accuracy(run.model(test)) for run in (theirs, own)]
        ahead = "distsvm" if accuracies[1] >= accuracies[0] else "crfsuite"
        rows.append(
            (theirs.choice, f"{theirs.seconds:.1f}", percent(theirs.dev), percent(accuracies[0]),
             own.choice, f"{own.seconds:.1f}", own.bound, percent(own.dev), percent(accuracies[1]),
             ahead)
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SENTENCES} sentences")
    parser.add_argument("--seconds", type=float, default=180, help="limit of each of our trainings")
    parser.add_argument("--iterations", type=int, default=100, help="limit of each of crfsuite's")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for its defaults")
    parser.add_argument(
        "--no-defaults", action="store_true", help="leave out crfsuite with its defaults"
    )
    parser.add_argument("--no-choice", action="store_true", help="leave out the choice of c2")
    parser.add_argument("--C", type=float, nargs="+", default=OUR_C, help="what our C may be")
    parser.add_argument(
        "--online", nargs="*", choices=list(ONLINE), default=list(ONLINE), metavar="METHOD",
        help="online methods of crfsuite (ap pa); none after it: leave them out",
    )  # fmt: skip
    args = parser.parse_args()
    print(machine())
    peer("pycrfsuite")
    if args.quick:
        args.seconds, args.iterations, args.limit = 15.0, 30, 60.0
    with tempfile.TemporaryDirectory() as folder:
        n = QUICK_SENTENCES if args.quick else None
        given = Sentences(ud_ewt(folder, "train", n))
        dev, test = Sentences(ud_ewt(folder, "dev")), Sentences(ud_ewt(folder, "test"))
        train(SequenceTask(), given.data, C=1.0, max_rounds=3)  # compile
        sides = {"distsvm": [ours(given, dev, C, args.seconds) for C in args.C]}
        if not args.no_choice:
            limit: dict[str, Any] = {"c1": 0.0, "max_iterations": args.iterations}
            sides["crfsuite"] = [
                crfsuite(given, dev, f"c2 = {c2:g}", limit | {"c2": c2}, math.inf) for c2 in CRF_C2
            ]
        if not args.no_defaults:
            sides[DEFAULTS] = [crfsuite(given, dev, "defaults", {}, args.limit)]
        best = {side: max(runs, key=lambda run: run.dev) for side, runs in sides.items()}
        accuracy = {
            side: math.nan if run.model is None else test.accuracy(run.model(test))
            for side, run in best.items()
        }
        C = args.C[sides["distsvm"].index(best["distsvm"])]
        online_rows = [
            row
            for algorithm in args.online
            for row in online_rows_of(*online(given, dev, algorithm, C), test)
        ]
    print(f"{len(given.labels)} sentences, {len(given.tags.names)} tags")
    rows = [
        (side, run.choice, run.time, f"{run.n_passes:.0f}", run.bound, run.ended, percent(run.dev),
         percent(accuracy[side]) if run is best[side] else "")
        for side, runs in sides.items() for run in runs
    ]  # fmt: skip
    table(("side", "choice", "seconds", "passes", "gap/C", "ended by", "dev", "test"), rows)
    verdicts(best, accuracy)
    if online_rows:
        head = ("crfsuite", "seconds", "dev", "test", "distsvm in that time", "seconds", "gap/C",
                "dev", "test", "ahead")  # fmt: skip
        table(head, online_rows)


if __name__ == "__main__":
    main()
