"""The best few trees of each sentence in a shard: a function that any executor can send."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from distsvm.structures.trees.oracle import ParseOracle
from distsvm.structures.trees.tree import Tree
from distsvm.workers.shard_worker import ShardWorker


def best_trees(worker: ShardWorker, w: np.ndarray, k: int) -> list[list[tuple[Tree, float]]]:
    """Return the k best trees of each sentence with their scores ⟨w, Ψ⟩, best first."""
    oracle = worker.oracle
    assert isinstance(oracle, ParseOracle)
    outputs, scores = oracle.n_best(oracle.view(w), np.arange(oracle.n), k)
    ranked = list(zip(oracle.public(outputs), scores.values.tolist(), strict=True))
    return [ranked[start:stop] for start, stop in pairwise(scores.starts.tolist())]
