"""Labelled precision, recall and F1 of trees, as evalb defines them; scores add up over shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import Any

import numpy as np

from distsvm.errors import DataError
from distsvm.structures.trees.rows import as_tree
from distsvm.structures.trees.tree import OUTER, TOP, Tree, walk
from distsvm.workers.shard_worker import ShardWorker

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
SAME_LABELS: Mapping[str, str] = {"PRT": "ADVP"}


@dataclass(frozen=True)
class TreeScore:
    """Counts over sentences; shares are those of the sums, as in evalb's summary.

    Parameters
    ----------
    n_sentences, n_exact : int
        All sentences, and those whose brackets are all right.
    n_true, n_predicted, n_matched : int
        Brackets in the true trees, in the predicted ones, and in both.
    n_outside : int
        Sentences outside the grammar or too long, with a flat tree under TOP.
    """

    n_sentences: int = 0
    n_exact: int = 0
    n_true: int = 0
    n_predicted: int = 0
    n_matched: int = 0
    n_outside: int = 0

    def __add__(self, other: TreeScore) -> TreeScore:
        return TreeScore(*map(add, astuple(self), astuple(other)))

    @property
    def precision(self) -> float:
        return _share(self.n_matched, self.n_predicted)

    @property
    def recall(self) -> float:
        return _share(self.n_matched, self.n_true)

    @property
    def f1(self) -> float:
        """2·precision·recall / (precision + recall)."""
        return _share(2 * self.n_matched, self.n_true + self.n_predicted)

    @property
    def exact_match(self) -> float:
        return _share(self.n_exact, self.n_sentences)


def score_trees(
    true: Iterable[Tree],
    predicted: Iterable[Tree],
    *,
    deleted_tags: Collection[str] = PUNCTUATION,
    same_labels: Mapping[str, str] = SAME_LABELS,
) -> TreeScore:
    """Return the score of predicted trees.

    A bracket is (label, first word, last word) of a phrase other than TOP, ROOT and S1; tags are
    none. Equal brackets of one tree (unary chains such as NP → NP) count as often as both trees
    have them. The defaults are those of evalb's COLLINS.prm: words with a tag of punctuation in the
    true tree are removed before words are counted, and PRT equals ADVP. Predicted tags may differ.

    Parameters
    ----------
    deleted_tags : tags whose words are removed; () to keep all
    same_labels : a map from labels to those that they count as
    """
    total = TreeScore()
    for number, (y, y_hat) in enumerate(zip(true, predicted, strict=True)):
        leaves = y.leaves()
        if [leaf.word for leaf in leaves] != [leaf.word for leaf in y_hat.leaves()]:
            raise DataError(f"tree {number}: the true and the predicted tree have other words")
        kept = [leaf.label not in deleted_tags for leaf in leaves]
        left, right = brackets_of(y, kept, same_labels), brackets_of(y_hat, kept, same_labels)
        n_matched = sum((left & right).values())
        outside = is_flat(y_hat)
        total += TreeScore(
            1, int(left == right), sum(left.values()), sum(right.values()), n_matched, int(outside)
        )
    return total


def tree_scores(worker: ShardWorker, w: np.ndarray) -> list[TreeScore]:
    """Return evalb's counts of each sentence in a worker's shard."""
    return scored_trees(worker, w)[1]


def scored_trees(worker: ShardWorker, w: np.ndarray) -> tuple[Any, list[TreeScore]]:
    """Return the trees that w predicts, as the oracle has them, and evalb's counts of each."""
    oracle = worker.oracle
    found = oracle.decode(oracle.view(w), np.arange(oracle.n))
    if worker.outputs is None:
        raise DataError("the examples have no trees")
    pairs = zip(map(as_tree, worker.outputs), oracle.public(found), strict=True)
    return found, [score_trees([tree], [guess]) for tree, guess in pairs]


def is_flat(tree: Tree) -> bool:
    """Return whether all words are children of TOP, as in a tree outside the grammar."""
    return tree.label == TOP and all(child.is_word for child in tree.children)


def brackets_of(
    tree: Tree, kept: Sequence[bool], same_labels: Mapping[str, str]
) -> Counter[tuple[str, int, int]]:
    """Return the tree's brackets over `kept` words; phrases without any have none."""
    brackets: Counter[tuple[str, int, int]] = Counter()
    starts: list[int] = []
    words = iter(kept)
    place = 0
    for node, leaving in walk(tree):
        if node.is_word:
            place += next(words)
        elif not leaving:
            starts.append(place)
        else:
            start = starts.pop()
            if start < place and node.label not in OUTER:
                brackets[same_labels.get(node.label, node.label), start, place] += 1
    return brackets


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
