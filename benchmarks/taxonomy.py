"""Classes in a tree: flat and tree features, zero-one and tree loss, beside hiclass and LinearSVC.

Run: python benchmarks/taxonomy.py [--data clinc150 newsgroups20] [--sizes 2 4 16 0] [--splits 5]
     python benchmarks/taxonomy.py time [--repeats 5]      (about two minutes on a quiet machine)
     --quick: one split of 2 examples a class

Accuracy and tree loss of training on 2, 4 or 16 examples a class, drawn anew for each split, or on
all (0); tested on the test part. CLINC150 has 150 intents in 10 domains; the 20 newsgroups are
nodes by their names (comp.sys.mac.hardware: comp, sys, mac, hardware). Features are tf-idf with
logarithmic counts, of the training examples of the split alone; of CLINC150 those of pairs of
words, too. C_per_example is chosen on the validation part of CLINC150 at each size and, for want of
one, on a fifth of the training part of newsgroups; LinearSVC's C, inside hiclass, too.

hiclass: LocalClassifierPerParentNode over LinearSVC. time: seconds to fit all of CLINC150, in
turns, at the C of the tables; the ratio is the median over the turns. Wanted: accuracy at least
that of hiclass, and at most twice its time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC
from support import data_folder, interleaved, machine, median_ratio, peer, table, use_cores, verdict

from distsvm import Taxonomy, TaxonomyClassifier

CS = (0.3, 1.0, 3.0, 10.0, 30.0)
"""C_per_example of ours, and C of LinearSVC, whose loss is squared, with one problem a class."""
PEERS = ("hiclass", "LinearSVC")
FORMS = [(features, loss) for features in ("flat", "tree") for loss in ("zero-one", "tree")]


class Part(NamedTuple):
    """Texts with the paths of their classes."""

    texts: list[str]
    paths: np.ndarray

    def take(self, rows: np.ndarray) -> Part:
        return Part([self.texts[row] for row in rows.tolist()], self.paths[rows])


class Problem(NamedTuple):
    train: Part
    valid: Part
    test: Part
    words: tuple[int, int]


@cache
def clinc150() -> Problem:
    folder = data_folder() / "clinc150"
    domains = json.loads((folder / "domains.json").read_text(encoding="utf-8"))
    domain = {intent: name for name, intents in domains.items() for intent in intents}
    with gzip.open(folder / "data_full.json.gz", "rt", encoding="utf-8") as file:
        data = json.load(file)

    def part(name: str) -> Part:
        texts, intents = zip(*data[name], strict=True)
        return Part(list(texts), np.array([f"{domain[i]}/{i}" for i in intents]))

    return Problem(part("train"), part("val"), part("test"), (1, 2))


@cache
def newsgroups20() -> Problem:
    def part(name: str) -> Part:
        with gzip.open(data_folder() / "newsgroups20" / f"{name}.jsonl.gz", "rt") as file:
            posts = [json.loads(line) for line in file]
        # Headers tell the group.
        texts = [post["text"].partition("\n\n")[2] for post in posts]
        return Part(texts, np.array([post["label"].replace(".", "/") for post in posts]))

    whole = part("train")
    order = np.random.default_rng(0).permutation(len(whole.texts))
    cut = len(order) // 5
    return Problem(whole.take(order[cut:]), whole.take(order[:cut]), part("test"), (1, 1))


PROBLEMS: dict[str, Callable[[], Problem]] = {"clinc150": clinc150, "newsgroups20": newsgroups20}


def drawn(part: Part, size: int, seed: int) -> Part:
    """Return `size` examples of each class, or all for 0."""
    if not size:
        return part
    order = np.random.default_rng(seed).permutation(len(part.texts))
    taken = [order[part.paths[order] == path][:size] for path in np.unique(part.paths)]
    return part.take(np.concatenate(taken))


Predict = Callable[[Any], np.ndarray]
"""From rows of features to paths."""


def ours(features: str, loss: str, C: float, X: Any, paths: np.ndarray) -> Predict:
    classifier = TaxonomyClassifier(class_features=features, loss=loss, C_per_example=C)
    return classifier.fit(X, paths).predict


def flat_svc(C: float, X: Any, paths: np.ndarray) -> Predict:
    return LinearSVC(C=C).fit(X, paths).predict


def hiclass(C: float, X: Any, paths: np.ndarray) -> Predict:
    per_parent = peer("hiclass").LocalClassifierPerParentNode
    model = per_parent(local_classifier=LinearSVC(C=C)).fit(X, levels(paths))

    def predict(rows: Any) -> np.ndarray:
        found = np.asarray(model.predict(rows)).astype(str)
        return np.array([[name for name in row if name][-1] for row in found.tolist()])

    return predict


def levels(paths: np.ndarray) -> np.ndarray:
    """Return a column a level: the path so far, as nodes of hiclass are told apart by name."""
    names = [path.split("/") for path in paths.tolist()]
    rows = [["/".join(way[: n + 1]) for n in range(len(way))] for way in names]
    width = max(map(len, rows))
    return np.array([row + [""] * (width - len(row)) for row in rows])


def scored(tree: Taxonomy, truth: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """Return accuracy in % and tree loss of predicted paths."""
    heights = []
    for a, b in zip(truth.tolist(), np.asarray(found).tolist(), strict=True):
        met = max({0, *tree.ancestors(tree.find(a) or 0)} & {0, *tree.ancestors(tree.find(b) or 0)})
        heights.append(0.0 if a == b else float(tree.height[met]))
    return 100.0 * float((found == truth).mean()), statistics.mean(heights)


PROGRAMS: dict[str, Callable[[float, Any, np.ndarray], Predict]] = {
    **{f"{features}, {loss}": partial(ours, features, loss) for features, loss in FORMS},
    "hiclass": hiclass,
    "LinearSVC": flat_svc,
}


def features_of(problem: Problem, given: Part) -> tuple[Any, Any, Any]:
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=problem.words)
    X = words.fit_transform(given.texts)
    return X, words.transform(problem.valid.texts), words.transform(problem.test.texts)


def tables(args: argparse.Namespace) -> None:
    for name in args.data:
        problem = PROBLEMS[name]()
        tree = Taxonomy.of_paths(path.split("/") for path in np.unique(problem.train.paths))
        for size in args.sizes:
            splits = args.splits if size else 1
            found: dict[str, list[tuple[float, float]]] = {program: [] for program in PROGRAMS}
            chosen: dict[str, float] = {}
            for seed in range(splits):
                given = drawn(problem.train, size, seed)
                X, X_valid, X_test = features_of(problem, given)
                for program, fit in PROGRAMS.items():
                    if program not in chosen:  # on the first split
                        chosen[program] = best_C(fit, X, given, X_valid, problem.valid, args.Cs)
                    predict = fit(chosen[program], X, given.paths)
                    found[program].append(scored(tree, problem.test.paths, predict(X_test)))
            print(f"\n{name}, {size or 'all'} examples a class, {splits} splits")
            table(
                ("program", "C", "accuracy %", "tree loss"),
                [
                    (program, f"{chosen[program]:g}", *map(spread, zip(*scores, strict=True)))
                    for program, scores in found.items()
                ],
            )


def best_C(
    fit: Callable[[float, Any, np.ndarray], Predict], X: Any, given: Part, X_valid: Any,
    valid: Part, Cs: Sequence[float],
) -> float:  # fmt: skip
    """Return the C of the highest accuracy on the validation part, the first in a tie."""
    accuracy = {C: float((fit(C, X, given.paths)(X_valid) == valid.paths).mean()) for C in Cs}
    return max(accuracy, key=lambda C: accuracy[C])


def spread(values: Sequence[float]) -> str:
    """Return mean and standard error."""
    if len(values) < 2:
        return f"{values[0]:.3f}"
    return f"{statistics.mean(values):.3f}±{statistics.stdev(values) / len(values) ** 0.5:.3f}"


def times(args: argparse.Namespace) -> None:
    use_cores(1)
    problem = clinc150()
    X, _, X_test = features_of(problem, problem.train)
    tree = Taxonomy.of_paths(path.split("/") for path in np.unique(problem.train.paths))
    fits = {
        program: partial(fit, args.C_svc if program in PEERS else args.C, X, problem.train.paths)
        for program, fit in PROGRAMS.items()
    }
    seconds = interleaved(fits, args.repeats)
    rows = []
    for program, fit in fits.items():
        accuracy, loss = scored(tree, problem.test.paths, fit()(X_test))
        ratio = median_ratio(seconds[program], seconds["hiclass"])
        wanted = "" if program in PEERS else verdict(ratio <= 2)
        rows.append((program, f"{statistics.median(seconds[program]):.2f}", f"{ratio:.2f}",
                     f"{accuracy:.2f}", f"{loss:.4f}", wanted))  # fmt: skip
    table(("program", "s", "× hiclass", "accuracy %", "tree loss", "at most 2"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="tables", choices=("tables", "time"))
    parser.add_argument("--data", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 4, 16, 0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--Cs", type=float, nargs="+", default=CS)
    parser.add_argument("--C", type=float, default=1.0, help="of ours, for time")
    parser.add_argument("--C-svc", type=float, default=1.0, help="of LinearSVC, for time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="2 examples a class, 1 split")
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.splits, args.repeats = [2], 1, 1
    print(machine())
    {"tables": tables, "time": times}[args.what](args)


if __name__ == "__main__":
    main()
