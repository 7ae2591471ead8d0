"""True labels that training did not see: they count as wrong wherever something is scored."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from distsvm import MulticlassSVC, SequenceTagger, StructuralSVM, TreeParser, train
from distsvm.data.synthetic import make_multiclass
from distsvm.model import Model
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree

QUICK = {"executor": "serial", "max_rounds": 3}
X, Y = make_multiclass(60, 4, 3, noise=0.3, seed=0)
COSTS = np.array([[0, 1, 2], [1, 0, 5], [1, 1, 0.0]])
TOKENS = [[["a"], ["b"]], [["b"], ["a"]], [["a"]]]
TAGS = [["X", "Y"], ["Y", "X"], ["X"]]


@pytest.mark.parametrize(("losses", "worst"), [("zero-one", 1.0), (COSTS, 5.0)])
def test_an_unseen_class_has_the_largest_loss(losses, worst, caplog):
    model = train(MulticlassTask(losses=losses), (X, Y), **QUICK).model
    guess = model.predict(X)
    known, score = model.evaluate(X[1:], Y[1:]), model.evaluate(X, np.append(7, Y[1:]))
    assert score.loss == known.loss + worst
    assert score.n_correct == np.count_nonzero(guess[1:] == Y[1:])
    assert score.n_examples == len(Y)
    assert "count as wrong: 1, of '7' (1)" in caplog.text


def test_an_unseen_tag_is_wrong_and_its_neighbours_are_not(caplog):
    model = train(SequenceTask(), TOKENS, TAGS, C=100.0, executor="serial").model
    assert model.predict(TOKENS) == TAGS
    score = model.evaluate(TOKENS, [["X", "N"], ["Y", "M"], ["X"]])
    assert (score.loss, score.n_correct) == (2.0, 1)
    assert "count as wrong: 2, of " in caplog.text
    assert "'N' (1)" in caplog.text


def test_an_unseen_label_of_a_tree_is_named(caplog):
    trees = make_treebank(20, max_length=8)
    task = train(ParseTask(), [t.sentence() for t in trees], trees, C=1.0, **QUICK).model.task
    model = Model(task, task.likelihood_weights())
    other = Tree("ODD", trees[0].children)
    scores = [model.evaluate([tree.sentence()], [tree]) for tree in (trees[0], other)]
    assert scores[1].n_correct == 0
    assert scores[1].n_examples == 1
    assert "count as wrong: 1, of 'ODD' (1)" in caplog.text


@pytest.mark.parametrize(
    ("task", "data", "check"),
    [
        (MulticlassTask(), (X, Y), (X, np.append(7, Y[1:]))),
        (SequenceTask(), list(zip(TOKENS, TAGS, strict=True)), [(TOKENS[0], ["X", "N"])]),
    ],
    ids=["classes", "sequences"],
)
def test_validation_data_may_have_unseen_labels(task, data, check, caplog):
    result = train(task, data, validation=check, **QUICK)
    assert result.best_validation["loss"] > 0
    assert "training did not see count as wrong: 1" in caplog.text


def test_validation_in_pieces_may_have_unseen_labels(tmp_path, caplog):
    lines = [f"{label} 1:{i % 7} 2:{i % 3}\n" for i, label in enumerate([1, 2] * 200)]
    (tmp_path / "a.svm").write_text("".join(lines))
    (tmp_path / "b.svm").write_text("".join([*lines, "9 1:1 2:1\n"]))
    result = train(
        MulticlassTask(), str(tmp_path / "a.svm"), validation=str(tmp_path / "b.svm"),
        worker_memory_mb=200, cache_dir=str(tmp_path / "packed"), **QUICK,
    )  # fmt: skip
    assert result.best_validation["accuracy"] <= 400 / 401
    assert "count as wrong: 1, of '9' (1)" in caplog.text


def test_cross_validation_of_a_tagger_gives_numbers_though_a_fold_lacks_a_tag():
    tags = [["X", "Y"], ["Y", "X"], ["X", "Y"], ["Z", "X"]]
    tokens = [[["a"], ["b"]], [["b"], ["a"]], [["a"], ["b"]], [["c"], ["a"]]]
    scores = cross_val_score(SequenceTagger(executor="serial"), tokens, tags, cv=4)
    assert np.isfinite(scores).all()
    assert scores[3] <= 0.5


@pytest.mark.parametrize(
    "make", [MulticlassSVC, lambda **given: StructuralSVM(MulticlassTask(), **given)]
)
def test_the_score_of_a_classifier_counts_and_names_unseen_labels(make, caplog):
    fitted = make(executor="serial", eps=0.1).fit(X, Y)
    guess, truth = fitted.predict(X), np.append(7, Y[1:])
    assert fitted.score(X, truth) == np.mean(guess == truth)
    assert "count as wrong: 1, of '7' (1)" in caplog.text


def test_entities_of_an_unseen_tag_count_as_missed():
    tags = [["B-A", "O"], ["O", "B-A"], ["B-A"]]
    tagger = SequenceTagger(executor="serial", C=100.0).fit(TOKENS, tags)
    found = tagger.evaluate(TOKENS, [["B-A", "O"], ["O", "B-A"], ["I-LST"]])
    assert (found.entities.n_gold, found.entities.n_correct) == (3, 2)
    assert found.by_type["LST"].n_gold == 1
    assert (found.n_correct, found.n_tokens) == (4, 5)


def test_a_parser_scores_trees_with_unseen_labels():
    trees = make_treebank(20, max_length=8)
    parser = TreeParser(C=1.0, **QUICK).fit(trees)
    assert 0 <= parser.evaluate([Tree("ODD", trees[0].children)]).f1 < 1
