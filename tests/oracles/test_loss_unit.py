"""The unit of the loss, in which the defaults of C and eps are measured."""

import numpy as np
import pytest
from sequence_examples import chains

from distsvm import MulticlassTask, train
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.grammar import constituents
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask

INPUTS, OUTPUTS = chains(30)
TREES = make_treebank(40, seed=3)
SENTENCES = [tree.sentence() for tree in TREES]
SEVERAL = {"n_shards": 3, "executor": "serial", "max_rounds": 3}


def brackets(tree):
    return sum(len(chain) > 1 or not node.is_word for chain, node in constituents(tree))


def test_it_is_the_mean_length_for_hamming_loss():
    result = train(SequenceTask(loss_scale=2.0), INPUTS, OUTPUTS, **SEVERAL)
    task, mean = result.model.task, np.mean([len(y) for y in OUTPUTS])
    assert task.loss_unit == pytest.approx(2.0 * mean)
    assert task.largest_loss == 2.0 * max(map(len, OUTPUTS))
    assert result.eps == pytest.approx(0.002 * mean)


def test_it_is_the_mean_number_of_brackets_for_their_loss():
    task = train(ParseTask("brackets", 3.0), SENTENCES, TREES, **SEVERAL).model.task
    assert task.loss_unit == pytest.approx(3.0 * np.mean([brackets(tree) for tree in TREES]))
    assert task.loss_unit < task.largest_loss


@pytest.mark.parametrize(
    "task", [SequenceTask(losses="zero-one"), ParseTask("f1", 5.0)], ids=["sequence", "parse"]
)
def test_it_is_the_largest_loss_otherwise(task):
    data = (INPUTS, OUTPUTS) if isinstance(task, SequenceTask) else (SENTENCES, TREES)
    task = train(task, *data, **SEVERAL).model.task
    assert task.loss_unit == task.largest_loss == task.loss_scale


def test_an_example_of_weight_two_counts_twice():
    weighted = train(SequenceTask(), INPUTS[:2], OUTPUTS[:2], weight=[1.0, 2.0], executor="serial")
    twice = [OUTPUTS[0], OUTPUTS[1], OUTPUTS[1]]
    assert weighted.model.task.loss_unit == pytest.approx(np.mean([len(y) for y in twice]))


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (lambda s: SequenceTask(loss_scale=s), (INPUTS, OUTPUTS)),
        (lambda s: SequenceTask(losses="zero-one", loss_scale=s), (INPUTS, OUTPUTS)),
        (lambda s: ParseTask("brackets", s), (SENTENCES, TREES)),
        (lambda s: MulticlassTask(loss_scale=s), (np.eye(4)[[0, 1, 2, 3, 1]], [0, 1, 2, 2, 1])),
    ],
    ids=["hamming", "zero-one", "brackets", "classes"],
)
def test_scaling_all_losses_does_not_change_the_predictions(make, data):
    one, large = (train(make(s), *data, executor="serial", max_rounds=60) for s in (1.0, 64.0))
    # By a power of two, so that every number of one run is that of the other times it.
    assert np.array_equal(64.0 * one.model.w, large.model.w)
    assert one.n_rounds == large.n_rounds


def test_scaling_all_features_does_not_change_the_predictions():
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    task = MulticlassTask(intercept_scaling=0.0)
    one, large = (train(task, s * X, y, executor="serial") for s in (1.0, 64.0))
    assert np.array_equal(one.model.w, 64.0 * large.model.w)
