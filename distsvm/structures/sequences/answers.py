"""A worker's answers about the tags of its shard: scores, and the k best of each sequence.

These are functions of a module, because they are sent to the workers of any executor.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from distsvm.structures.sequences.oracle import SequenceOracle
from distsvm.structures.sequences.rows import TagRows
from distsvm.structures.sequences.tag_scores import TagScores, score_tags
from distsvm.structures.sequences.view import View
from distsvm.workers.shard_worker import ShardWorker


def tag_scores(worker: ShardWorker, w: np.ndarray) -> TagScores:
    """Return the counts of tokens, sequences and entities that w predicts correctly."""
    gold, predicted = tags_of(worker, w)
    return score_tags(gold, predicted)


def tags_of(worker: ShardWorker, w: np.ndarray) -> tuple[TagRows, TagRows]:
    """Return the true tags and those that w predicts, both in the task's numbers."""
    oracle = worker.oracle
    assert isinstance(oracle, SequenceOracle)
    gold = oracle.true_tags()
    found = oracle.decode(oracle.view(w), np.arange(oracle.n))
    return gold, TagRows(found, gold.names)


def best_tags(worker: ShardWorker, w: np.ndarray, k: int) -> list[list[tuple[list[str], float]]]:
    """Return the k best tag sequences of each example with their scores ⟨w, Ψ⟩, best first."""
    oracle = worker.oracle
    assert isinstance(oracle, SequenceOracle)
    return ranked_tags(oracle, oracle.view(w), k)


def ranked_tags(oracle: SequenceOracle, view: View, k: int) -> list[list[tuple[list[str], float]]]:
    """Return the k best tag sequences of each example with their scores, best first."""
    outputs, scores = oracle.n_best(view, np.arange(oracle.n), k)
    ranked = list(zip(oracle.public(outputs), scores.values.tolist(), strict=True))
    return [ranked[start:stop] for start, stop in pairwise(scores.starts.tolist())]
