"""What a worker can say of the alignments in its shard.

Functions of a module, so that they can be sent to the workers of any executor.
"""

from __future__ import annotations

import numpy as np

from distsvm.data.ragged import Ragged
from distsvm.structures.alignments.oracle import AlignmentOracle
from distsvm.workers.shard_worker import ShardWorker


def alignments_of(worker: ShardWorker, w: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """Return the oracle's outputs that w predicts, and which homologues it finds."""
    oracle = _oracle(worker)
    rows = np.arange(oracle.n)
    found = oracle.decode(oracle.view(w), rows)
    return found, oracle.homologues(rows) == found.values[found.starts[:-1]]


def found(worker: ShardWorker, w: np.ndarray) -> np.ndarray:
    """Return which homologues w finds."""
    return alignments_of(worker, w)[1]


def pair_counts(worker: ShardWorker, found: Ragged, which: np.ndarray) -> np.ndarray:
    """Return the pairs of letters in these outputs: true ones, predicted ones, and both."""
    rows = np.flatnonzero(which)
    return _oracle(worker).pair_counts(rows, found[rows])


def _oracle(worker: ShardWorker) -> AlignmentOracle:
    assert isinstance(worker.oracle, AlignmentOracle)
    return worker.oracle
