"""Predictions: rows, tokens and sentences a second in batches and one at a time, beside others.

Run: python benchmarks/prediction.py              (about 3 minutes; --quick: less data)

Tags: python-crfsuite, with a model of its averaged perceptron on the same sentences. The time
counts from lists of feature strings, which is what crfsuite takes; in the rows of words distsvm has
words, of which the templates of its training files make features, and crfsuite lists as before.
Classes: LinearSVC on the same rows. Trees: NLTK's Viterbi parser over tags with the very same rules
(see cky_speed.py), on few sentences, as it takes long for each.

Everything runs on one thread. Calls are interleaved: each pair of the ratio is of neighbours in
time; a figure is of the median call.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from cky_speed import grammar_of, peer_parser, peer_score, within
from support import (
    covertype,
    feature_lists,
    machine,
    median_ratio,
    newsgroups,
    peer,
    penn,
    table,
    ud_ewt,
)

from distsvm import Model, MulticlassSVC, train
from distsvm.blas import one_thread
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask

TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"


def in_turns(
    ours: Callable[[Any], object], theirs: Callable[[Any], object], given: Sequence[Any]
) -> tuple[list[float], list[float]]:
    """Seconds of both for each input, after one call of each that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for function in (ours, theirs):
        function(given[0])
    for number, x in enumerate(given):
        order = ((0, ours), (1, theirs)) if number % 2 else ((1, theirs), (0, ours))
        for which, function in order:
            started = time.perf_counter()
            function(x)
            times[which].append(time.perf_counter() - started)
    return times


def row(
    what: str, size: float, ours: Callable[[Any], object], theirs: Callable[[Any], object],
    given: Sequence[Any],
) -> tuple[str, ...]:  # fmt: skip
    """A row of the table: `size` is how many tokens, rows or sentences one call has."""
    own, other = in_turns(ours, theirs, given)
    medians = statistics.median(own), statistics.median(other)
    rates = [f"{size / median:,.0f}" for median in medians]
    spans = [f"{1e6 * median:,.0f}" for median in medians]
    return what, *rates, *spans, f"{median_ratio(own, other):.2f}"


def tag_rows(folder: str, n_sentences: int | None, repeats: int) -> list[tuple[str, ...]]:
    pycrfsuite = peer("pycrfsuite")
    specs = {}
    for part in ("train", "test"):
        path = ud_ewt(folder, part, n_sentences)
        (specs[part],) = ConlluData(path, templates=TEMPLATES).specs(1)
        if part == "train":
            options: dict[str, Any] = {"C": 100.0, "eps": 0.1, "max_rounds": 2}
            reading = {"templates": TEMPLATES}
            model = train(SequenceTask(), path, **options, data_options=reading).model
    X, tags = feature_lists(specs["train"].load())
    test, _ = feature_lists(specs["test"].load())
    words = specs["test"].words()
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": 5})
    for features, labels in zip(X, tags, strict=True):
        trainer.append(features, labels)
    path = os.path.join(folder, "crfsuite")
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    assert model.predict(test) == model.predict(words)

    def batch(sentences: Any) -> object:
        return [tagger.tag(features) for features in sentences]

    some = slice(None, None, max(1, len(test) // 600))
    both = list(zip(test, words, strict=True))[some]
    n_tokens, mean = sum(map(len, test)), statistics.mean(map(len, test[some]))
    return [
        row("tags, feature lists, all (tokens)", n_tokens, model.predict, batch, [test] * repeats),
        row(
            "tags, feature lists, one (tokens)", mean, lambda x: model.predict([x]), tagger.tag,
            test[some],
        ),
        row(
            "tags, words, all (tokens)", n_tokens, lambda x: model.predict(words), batch,
            [test] * repeats,
        ),
        row(
            "tags, words, one (tokens)", mean, lambda x: model.predict([x[1]]),
            lambda x: tagger.tag(x[0]), both,
        ),
    ]  # fmt: skip


def class_rows(quick: bool, repeats: int) -> list[tuple[str, ...]]:
    from sklearn.svm import LinearSVC

    X, y, XT, _ = covertype(2_000 if quick else 20_000)
    N, z = newsgroups()
    rows = []
    for name, data, labels, test in (
        ("Covertype", X, y, XT[:10_000]), ("newsgroups", N[:2_000], z[:2_000], N[:5_000])
    ):  # fmt: skip
        ours = MulticlassSVC(max_rounds=3, solver="one-slack").fit(data, labels)
        theirs = LinearSVC(max_iter=20).fit(data, labels)
        n = test.shape[0]
        ones = [test[i : i + 1] for i in range(0, n, n // 300)]
        rows += [
            row(f"{name}, {n:,} rows", n, ours.predict, theirs.predict, [test] * repeats),
            row(f"{name}, one row", 1, ours.predict, theirs.predict, ones),
        ]
    return rows


def tree_rows(folder: str, n_sentences: int) -> list[tuple[str, ...]]:
    trees, test = penn(folder, 15)
    task = grammar_of(trees)
    w = task.likelihood_weights()
    model, parser = Model(task, w), peer_parser(task, w)
    sentences = within(test, (4, 8), n_sentences)
    return [
        row(
            "trees, one (sentences)", 1, lambda x: model.predict([x]),
            lambda x: peer_score(parser, [tag for _, tag in x]), sentences,
        )
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,500 sentences, fewer repeats")
    args = parser.parse_args()
    print(machine())
    repeats = 5 if args.quick else 15
    with tempfile.TemporaryDirectory() as folder, one_thread():
        rows = tag_rows(folder, 1_500 if args.quick else None, repeats)
        rows += class_rows(args.quick, repeats)
        rows += tree_rows(folder, 3 if args.quick else 10)
    head = ("what", "distsvm /s", "peer /s", "distsvm µs", "peer µs", "distsvm / peer time")
    table(head, rows)


if __name__ == "__main__":
    main()
