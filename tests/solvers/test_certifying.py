"""Multi-plane certifies when the gap is near its target: not often before, and not long after."""

import numpy as np
import pytest
from toy_tasks import toy_chains

from distsvm import MulticlassTask, ParseTask, SequenceTask, train
from distsvm.structures.trees.synthetic import make_treebank


def classes():
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(100, 60)), rng.integers(0, 100, 800)
    return MulticlassTask(), (centres[y] + 1.5 * rng.normal(size=(800, 60)), y), 800.0


def tags():
    inputs, outputs = toy_chains(n=150, seed=0)
    X = [[[f"s{symbol}"] for symbol in symbols] for symbols in inputs]
    return SequenceTask(), (X, [["AB"[tag] for tag in found] for found in outputs]), 100.0


def trees():
    found = make_treebank(80, max_length=9, seed=1)
    return ParseTask("f1"), ([tree.sentence() for tree in found], found), 100.0


@pytest.mark.parametrize("n_blocks", [1, 4])
@pytest.mark.parametrize("rel_gap", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("make", [classes, tags, trees])
def test_no_run_works_far_past_its_target(make, rel_gap, n_blocks):
    task, data, C = make()
    result = train(
        task, *data, C=C, rel_gap=rel_gap, solver="multi-plane", n_blocks=n_blocks, n_shards=4,
        executor="serial",
    )  # fmt: skip
    certified = [record for record in result.history if record.kind == "fresh"]
    assert result.stop_reason == "rel_gap"
    if make is classes:  # the others are so small that a pass may bring the gap to nothing
        assert result.gap > 0.1 * rel_gap * result.primal
    # Calls that certify are no more than those between two of them.
    assert len(certified) <= 2 + 0.5 * result.n_oracle_calls / result.n_examples
