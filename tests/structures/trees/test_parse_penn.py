"""The Penn Treebank sample: trees come back exactly, and whatever is outside the grammar counts."""

import os
import zipfile
from pathlib import Path

import pytest
from parse_enumeration import grammar_of

from distsvm import train
from distsvm.model import Model
from distsvm.structures.trees.rows import decode, encode
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import score_trees
from distsvm.structures.trees.treebank import TreebankData


def penn_zip():
    folder = os.environ.get("DISTSVM_DATA") or Path(__file__).parents[4] / "shared" / "data"
    return Path(folder) / "treebank" / "treebank.zip"


@pytest.fixture(scope="session")
def penn(tmp_path_factory):
    """The folder of the Penn Treebank sample's trees."""
    if not penn_zip().exists():
        pytest.skip("the Penn Treebank sample is not here (DISTSVM_DATA)")
    folder = tmp_path_factory.mktemp("penn")
    with zipfile.ZipFile(penn_zip()) as archive:
        archive.extractall(folder)
    return folder / "treebank" / "combined"


def test_penn_trees_come_back_exactly(penn):
    trees = [tree for spec in TreebankData(penn).specs(3) for tree in spec.load().y]
    assert len(trees) == 3914
    grammar = grammar_of(trees)
    for tree in trees:
        assert decode(grammar, encode(grammar, tree), tree.sentence()) == tree
        assert Tree.parse(str(tree)) == tree


def test_penn_sentences_outside_the_grammar_are_counted(penn):
    shard = TreebankData(penn, max_length=10).specs(1)[0].load()
    n = shard.n // 2
    task = ParseTask()
    learnt = type(shard)(shard.x[:n], shard.y[:n], None)
    task = task.prepare(task.scan(learnt))
    model = Model(task, task.likelihood_weights())
    score = score_trees(shard.y[n:], model.predict(shard.x[n:], executor="serial"))
    assert 0 < score.n_outside < score.n_sentences
    assert model.evaluate(shard.x[n:], shard.y[n:], executor="serial").n_examples == shard.n - n
    assert score_trees(shard.y[:n], model.predict(shard.x[:n], executor="serial")).n_outside == 0


# The loss f1 does not see the chain NP => NP => PRP of one word: only a larger C drives it out.
@pytest.mark.parametrize(("losses", "C"), [("f1", 10_000.0), ("brackets", 3000.0)])
def test_training_parses_penn_better_than_the_baseline(penn, losses, C):
    shard = TreebankData(penn, max_length=10).specs(1)[0].load()
    result = train(
        ParseTask(losses), shard.x, shard.y, C=C, eps=0.01, n_shards=4, executor="serial"
    )
    model = result.model
    baseline = Model(model.task, model.task.likelihood_weights())
    trained, counted = (
        score_trees(shard.y, m.predict(shard.x, executor="serial")) for m in (model, baseline)
    )
    assert trained.f1 > counted.f1
    assert trained.exact_match > counted.exact_match
