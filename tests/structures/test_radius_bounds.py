"""No ‖ψ‖² of any output is above the radius that an oracle gives."""

import numpy as np
import pytest
from parse_enumeration import all_trees
from sequence_examples import all_outputs, drawn, prepared

from distsvm import train
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import TOP
from distsvm.vectors import to_dense

RULES = ("S -> X Y", "S -> Y", "X -> 'a'", "X -> X X", "Y -> X", "Y -> 'b'", "Y -> Y Y", "X -> Y X")


def largest(task, inputs, outputs, every):
    found = 0.0
    for x, y in zip(inputs, outputs, strict=True):
        own = to_dense(task.joint_features(x, y))
        for other in every(x):
            psi = own - to_dense(task.joint_features(x, other))
            found = max(found, float(psi @ psi))
    return found


@pytest.mark.parametrize("more", [{}, {"transition_scale": 3.0, "transition_features": "f0; f1"}])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_sequences(seed, order, more):
    inputs, outputs = drawn(seed, n=6, length=4)
    task = prepared(SequenceTask(order=order, **more), inputs, outputs)
    radius = task.oracle(task.shard(inputs, outputs), "margin").norms()[1]
    assert 0 < largest(task, inputs, outputs, all_outputs(task)) <= radius


@pytest.mark.parametrize("seed", range(5))
def test_trees(seed):
    rules = tuple(rule.replace("S ->", f"{TOP} ->") for rule in RULES)
    tags = ("a", *np.random.default_rng(seed).choice(["a", "b"], 3).tolist(), "b")
    trees = all_trees(rules, (), 2, tags)
    assert len(trees) > 1
    task = ParseTask(rules=rules, max_chain=2)
    x = trees[0].sentence()
    radius = task.oracle(task.shard([x], [trees[0]]), "margin").norms()[1]
    assert 0 < largest(task, [x], [trees[0]], lambda _: trees) <= radius


def test_the_theorem_on_rounds_is_told_for_sequences():
    inputs, outputs = drawn(0, n=6, length=4)
    given = {"solver": "one-slack", "C": 1.0, "eps": 0.1, "executor": "serial"}
    result = train(SequenceTask(), inputs, outputs, stabilise=1, **given)
    assert result.n_rounds <= result.bound_on_rounds
    assert train(SequenceTask(), inputs, outputs, **given).bound_on_rounds is None
