"""Options that add weights: runs go on where they stopped, and models of training predict alike."""

import numpy as np
import pytest
from sequence_examples import chains

from distsvm import ParseTask, SequenceTask, load_model, train
from distsvm.errors import DistSVMError
from distsvm.structures.trees.synthetic import make_treebank

MORE = {"transition_scale": 2.0, "transition_features": "s", "tag_weight": {"A": 3}}


def tagged():
    return SequenceTask(**MORE), chains(40), {"C": 20.0, "eps": 0.02}


def parsed():
    trees = make_treebank(20, max_length=7, seed=1)
    data = [tree.sentence() for tree in trees], trees
    return ParseTask("f1", span_features="tag[first]; span"), data, {"C": 20.0, "eps": 0.02}


problems = pytest.mark.parametrize("problem", [tagged, parsed])


@problems
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(problem, solver, tmp_path):
    task, data, config = problem()
    config |= {"solver": solver, "executor": "serial", "n_shards": 2, "checkpoint_rounds": 1}
    whole = train(task, *data, **config)
    run = config | {"run_dir": tmp_path / "run", "checkpoint_share": 1}
    train(task, *data, max_rounds=3, **run)
    again = train(task, *data, resume=True, **run)
    assert whole.n_rounds > 3
    assert np.array_equal(again.model.w, whole.model.w)
    saved = load_model(tmp_path / "run" / "model")
    assert saved.predict(data[0]) == whole.model.predict(data[0])


@problems
def test_another_task_cannot_go_on(problem, tmp_path):
    task, data, config = problem()
    config |= {"executor": "serial", "run_dir": tmp_path / "run"}
    train(task, *data, max_rounds=2, **config)
    with pytest.raises(DistSVMError):
        train(type(task)(task.losses), *data, resume=True, **config)
