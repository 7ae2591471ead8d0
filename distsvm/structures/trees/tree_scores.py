"""Labelled precision, recall and F1 of trees, as evalb defines them; scores add up over shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from distsvm.errors import DataError
from distsvm.structures.trees.tree import OUTER, TOP, Tree, walk

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
SAME_LABELS: Mapping[str, str] = {"PRT": "ADVP"}


@dataclass(frozen=True)
class TreeScore:
    """Counts over sentences; the shares are made of the sums, as evalb's summary does.

    Parameters
    ----------
    n_sentences, n_exact : int
        How many there are, and how many whose brackets are all right.
    n_true, n_predicted, n_matched : int
        Brackets in the true trees, in the predicted ones, and in both.
    n_outside : int
        Sentences without a tree, outside the grammar or too long: they got a flat one under TOP.
    """

    n_sentences: int = 0
    n_exact: int = 0
    n_true: int = 0
    n_predicted: int = 0
    n_matched: int = 0
    n_outside: int = 0

    def __add__(self, other: TreeScore) -> TreeScore:
        return TreeScore(
            self.n_sentences + other.n_sentences,
            self.n_exact + other.n_exact,
            self.n_true + other.n_true,
            self.n_predicted + other.n_predicted,
            self.n_matched + other.n_matched,
            self.n_outside + other.n_outside,
        )

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
    """The score of predicted trees.

    A bracket is (label, first word, last word) of a phrase; tags are none, and neither are TOP,
    ROOT and S1. Equal brackets of one tree (unary chains such as NP → NP) count as often as both
    trees have them. The defaults are evalb's COLLINS.prm: words with a tag of punctuation in the
    true tree are taken out before words are counted, and PRT is as good as ADVP. Predicted tags may
    be others.

    Parameters
    ----------
    deleted_tags : tags whose words are taken out; () to keep all
    same_labels : labels to be read as others
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


def is_flat(tree: Tree) -> bool:
    """Whether it is the tree of a sentence without one: all words right under TOP."""
    return tree.label == TOP and all(child.is_word for child in tree.children)


def brackets_of(
    tree: Tree, kept: Sequence[bool], same_labels: Mapping[str, str]
) -> Counter[tuple[str, int, int]]:
    """The tree's brackets, `kept` words counted; phrases all of whose words are not have none."""
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
