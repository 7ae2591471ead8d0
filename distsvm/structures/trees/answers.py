"""What a worker can say of the trees in its shard.

Functions of a module, so that they can be sent to the workers of any executor.
"""

from __future__ import annotations

import numpy as np

from distsvm.errors import DataError
from distsvm.structures.trees.oracle import ParseOracle
from distsvm.structures.trees.rows import TreeRows, as_tree
from distsvm.structures.trees.tree_scores import TreeScore, score_trees
from distsvm.workers.shard_worker import ShardWorker


def tree_scores(worker: ShardWorker, w: np.ndarray) -> list[TreeScore]:
    """evalb's counts for each sentence."""
    return scores_of_trees(worker, trees_of(worker, w))


def trees_of(worker: ShardWorker, w: np.ndarray) -> TreeRows:
    """The trees that w predicts, as the oracle keeps them."""
    oracle = worker.oracle
    assert isinstance(oracle, ParseOracle)
    return oracle.decode(oracle.view(w), np.arange(oracle.n))


def scores_of_trees(worker: ShardWorker, found: TreeRows) -> list[TreeScore]:
    """evalb's counts for each of these trees."""
    if worker.outputs is None:
        raise DataError("the examples have no trees")
    pairs = zip(map(as_tree, worker.outputs), worker.oracle.public(found), strict=True)
    return [score_trees([tree], [guess]) for tree, guess in pairs]
