"""Training on trees: the same bits everywhere, checkpoints, saved models, and better parses."""

from dataclasses import replace

import numpy as np
import pytest

from distsvm import Callback, load_model, train
from distsvm.model import Model
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree_scores import score_trees
from distsvm.structures.trees.treebank import TreebankData

TREES = make_treebank(160, seed=0)
CONFIG = {"C": 200.0, "eps": 0.02, "n_shards": 5, "n_blocks": 5}
CASES = [("zero-one", "margin"), ("brackets", "margin"), ("f1", "margin"), ("f1", "slack")]


def go(losses="f1", rescaling="margin", executor="serial", **more):
    inputs = [tree.sentence() for tree in TREES]
    task = ParseTask(losses, 1.0 if losses == "brackets" else 10.0)
    return train(task, inputs, TREES, rescaling=rescaling, executor=executor, **CONFIG | more)


@pytest.fixture(scope="module")
def references():
    return {case: go(*case, max_rounds=25) for case in CASES}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("executor", "n_workers"), [("threads", 2), ("processes", 2)])
def test_every_executor_gives_the_same_bits(references, case, executor, n_workers):
    result = go(*case, executor=executor, n_workers=n_workers, max_rounds=25)
    assert np.array_equal(result.model.w, references[case].model.w)
    assert (result.primal, result.dual) == (references[case].primal, references[case].dual)


@pytest.mark.ray
def test_ray_gives_the_same_bits(references, ray_session):
    result = go(executor="ray", n_workers=2, max_rounds=25)
    assert np.array_equal(result.model.w, references["f1", "margin"].model.w)


class StopAfter(Callback):
    def __init__(self, number):
        self.number = number

    def on_round(self, record):
        return record.number == self.number


def test_a_resumed_run_has_the_bits_of_one_never_stopped(tmp_path):
    whole = go(run_dir=str(tmp_path / "whole"))
    part = go(run_dir=str(tmp_path / "part"), callbacks=[StopAfter(6)])
    assert part.stop_reason == "interrupted"
    result = go(run_dir=str(tmp_path / "part"), resume=True)
    assert np.array_equal(result.model.w, whole.model.w)
    assert result.gap <= CONFIG["C"] * CONFIG["eps"]


def test_a_saved_model_parses_alike(tmp_path, references):
    model = references["brackets", "margin"].model
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    inputs = [tree.sentence() for tree in make_treebank(20, seed=5)]
    assert again.predict(inputs) == model.predict(inputs)
    assert again.task.rules == model.task.rules
    outputs = make_treebank(20, seed=5)
    one, two = (m.evaluate(inputs, outputs) for m in (again, model))
    assert (one.loss, one.n_correct) == (two.loss, two.n_correct)


def test_f1_and_its_reference_over_original_brackets_learn_about_the_same():
    trees = [t for t in make_treebank(300, max_length=10, seed=4) if len(t.leaves()) > 7][:100]
    inputs = [tree.sentence() for tree in trees]
    losses, f1 = {}, {}
    config = CONFIG | {"eps": 0.005, "n_blocks": 1}
    for name in ("f1", "f1-brackets"):
        result = train(ParseTask(name), inputs, trees, executor="serial", **config)
        assert result.stop_reason == "eps"
        again = train(ParseTask(name), inputs, trees, executor="threads", n_workers=2, **config)
        assert np.array_equal(again.model.w, result.model.w)
        reference = replace(result.model.task, losses="f1-brackets")
        own = {name: result.model.w, "counted": reference.likelihood_weights()}
        for key, w in own.items():
            model = Model(reference, w)
            losses[key] = model.evaluate(inputs, trees, executor="serial").mean_loss
            found = model.predict(inputs, executor="serial")
            f1[key] = score_trees(trees, found, deleted_tags=()).f1
    assert losses["f1-brackets"] <= result.primal / result.C  # the risk bounds the loss
    assert losses["f1-brackets"] < losses["counted"]
    assert abs(losses["f1-brackets"] - losses["f1"]) < 0.02
    assert abs(f1["f1-brackets"] - f1["f1"]) < 0.02


def test_files_and_memory_give_the_same_model(tmp_path):
    write_treebank(tmp_path / "t.mrg", TREES)
    data = TreebankData(tmp_path / "t.mrg")
    one = train(ParseTask(), data, C=100.0, eps=0.05, n_shards=1, executor="serial")
    inputs = [tree.sentence() for tree in TREES]
    two = train(ParseTask(), inputs, TREES, C=100.0, eps=0.05, n_shards=1, executor="serial")
    assert np.array_equal(one.model.w, two.model.w)
    assert len(one.model.predict(data)) == len(TREES)
