"""Weights of tags: the recall of rare tags against accuracy, on UD English EWT (XPOS tags).

Run: python benchmarks/tag_weights.py [--sentences N] [--C 300] [--rel-gap 0.1] [--share 0.01]

One tagger for each weighting: none; "balanced" (N / (L·count), so that all tags cost the same in
sum); and its square root, in between. Templates are those of benchmarks/tagging.py. Rare tags are
those of the training data that have less than `share` of its tokens; their recall on the test set
is given for all their tokens together, and as the mean over these tags (that occur there). C is per
unit of the mean loss of a sentence, so that weightings compare at one strength of regularisation.

Wanted: balanced weights find more of the rare tags' tokens than none.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
from support import machine, n_passes, table, ud_ewt, verdict

from distsvm import train
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask

TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"


def tags_of(data: ConlluData) -> list[list[str]]:
    (spec,) = data.specs(1)
    rows = spec.load().y
    names = np.asarray(rows.names)
    return [names[rows.codes.row(i)].tolist() for i in range(len(rows))]


def weightings(counts: Counter[str]) -> dict[str, Any]:
    n, n_tags = counts.total(), len(counts)
    balanced = {tag: n / (n_tags * count) for tag, count in counts.items()}
    return {
        "none": None,
        "root of balanced": {tag: weight**0.5 for tag, weight in balanced.items()},
        "balanced": "balanced",
    }


def recalls(true: list[list[str]], found: list[list[str]], rare: set[str]) -> tuple[float, ...]:
    """Return accuracy, and of rare tags the recall of all tokens and the mean over tags."""
    pairs = list(zip(chain(*true), chain(*found), strict=True))
    seen, right = Counter(a for a, _ in pairs), Counter(a for a, b in pairs if a == b)
    own = [tag for tag in rare if seen[tag]]
    return (
        100 * right.total() / len(pairs),
        100 * sum(right[tag] for tag in own) / sum(seen[tag] for tag in own),
        100 * float(np.mean([right[tag] / seen[tag] for tag in own])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, help="of training; all by default")
    parser.add_argument("--C", type=float, default=300.0)
    parser.add_argument("--rel-gap", type=float, default=0.1)
    parser.add_argument("--share", type=float, default=0.01)
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        data, test = (
            ConlluData(ud_ewt(folder, part, n), templates=TEMPLATES)
            for part, n in (("train", args.sentences), ("test", None))
        )
        counts = Counter(chain(*tags_of(data)))
        rare = {tag for tag, n in counts.items() if n < args.share * counts.total()}
        true = tags_of(test)
        rows, recall = [], {}
        for name, weight in weightings(counts).items():
            task = SequenceTask(tag_weight=weight)
            prepared_scale = _mean_cost(counts, weight)
            result = train(
                task, data, C=args.C / prepared_scale, rel_gap=args.rel_gap, eps=0.0,
                n_shards=2, max_rounds=400,
            )  # fmt: skip
            found = recalls(true, result.model.predict(test.unlabelled()), rare)
            recall[name] = found[1]
            shown = (f"{value:.2f}" for value in found)
            gap = f"{100 * result.gap / result.primal:.1f}%"
            rows.append((name, *shown, f"{n_passes(result):.0f}", gap, result.stop_reason))
    n_rare = sum(counts[tag] for tag in rare)
    print(
        f"{sum(1 for _ in true)} test sentences; {len(rare)} of {len(counts)} tags are rare, with "
        f"{100 * n_rare / counts.total():.1f}% of the training tokens"
    )
    table(
        ("weights", "accuracy %", "recall of rare %", "mean over tags %", "passes", "gap", "ended"),
        rows,
    )
    gain = recall["balanced"] - recall["none"]
    print(f"recall of rare tags: {gain:+.2f} points, wanted above 0: {verdict(gain > 0)}")


def _mean_cost(counts: Counter[str], weight: Any) -> float:
    """Return the mean weight of a token, 1 for none and for balanced ones."""
    if not isinstance(weight, dict):
        return 1.0
    return sum(counts[tag] * own for tag, own in weight.items()) / counts.total()


if __name__ == "__main__":
    main()
