"""Scores of predicted nodes, all from the lowest node above the true and the predicted one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.messages import Summed
from distsvm.structures.classes.taxonomies.task import TaxonomyTask
from distsvm.structures.classes.taxonomies.taxonomy import SEPARATOR


@dataclass(frozen=True, eq=False)
class TreeCounts(Summed):
    """Counts of some examples; those of several shards add up.

    The set of an example is its node with all above it, without the root.

    Parameters
    ----------
    n : int
    common, predicted, true : int
        Nodes in both sets, in predicted sets and in true ones.
    precision, recall, f1 : float
        Σ of each example's own.
    heights : float
        Σ of the heights of the lowest nodes above the true and the predicted one.
    right, deep : int64 arrays of shape (depth of the taxonomy,)
        Examples whose nodes at each level, from below the root, are right; and those whose true
        nodes are so deep.
    """

    n: int
    common: int
    predicted: int
    true: int
    precision: float
    recall: float
    f1: float
    heights: float
    right: np.ndarray
    deep: np.ndarray

    def scores(self) -> dict[str, Any]:
        """Return the scores by name; precision, recall and F1 as the package hiclass has them."""
        n = max(1, self.n)
        precision = self.common / self.predicted if self.predicted else 0.0
        recall = self.common / self.true if self.true else 0.0
        both = precision + recall
        levels = self.deep > 0
        return {
            "tree_loss": self.heights / n,
            "accuracy_by_level": (self.right[levels] / self.deep[levels]).tolist(),
            "h_precision": precision,
            "h_recall": recall,
            "h_f1": 2 * precision * recall / both if both else 0.0,
            "macro_h_precision": self.precision / n,
            "macro_h_recall": self.recall / n,
            "macro_h_f1": self.f1 / n,
        }


def tree_counts(
    task: TaxonomyTask, truth: np.ndarray, others: list[Any], predicted: np.ndarray
) -> TreeCounts:
    """Return the counts of predicted classes.

    Parameters
    ----------
    truth : array of shape (n,)
        Numbers of classes; k + j is others[j], a label that is no class. It counts as a path, of
        which the taxonomy may have the beginning.
    predicted : array of shape (n,)
        Numbers of classes.
    """
    assert task.places is not None
    tree = task.tree
    known = [_known(task, label) for label in others]
    nodes = np.concatenate([task.places, [node for node, _ in known]]).astype(np.int32)
    depths = np.concatenate([tree.depth[task.places], [depth for _, depth in known]])
    a, b = nodes[truth], task.places[predicted]
    met = task.common(a, b)
    true, found, common = depths[truth].astype(np.int64), tree.depth[b], tree.depth[met]
    precision, recall = common / found, common / true
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1.0)
    # An unseen node is below the known part of its path: the two are never the same node.
    same = (a == b) & (true == found)
    heights = np.where(same, 0.0, np.maximum(tree.height[met], 1.0))
    levels = np.arange(1, int(tree.depth.max()) + 1)
    return TreeCounts(
        n=truth.size, common=int(common.sum()), predicted=int(found.sum()), true=int(true.sum()),
        precision=float(precision.sum()), recall=float(recall.sum()), f1=float(f1.sum()),
        heights=float(heights.sum()),
        right=(common[:, None] >= levels).sum(axis=0), deep=(true[:, None] >= levels).sum(axis=0),
    )  # fmt: skip


def _known(task: TaxonomyTask, label: Any) -> tuple[int, int]:
    """Return the deepest known node of a label that is no class, and the label's depth."""
    names = str(label).split(SEPARATOR)
    for n in range(len(names), 0, -1):
        node = task.tree.find(SEPARATOR.join(names[:n]))
        if node is not None:
            return node, int(task.tree.depth[node]) + len(names) - n
    return 0, len(names)
