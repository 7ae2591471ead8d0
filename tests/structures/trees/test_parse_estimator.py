"""TreeParser: scikit-learn's manners, trees and files, evalb's scores, the PCFG, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from distsvm import TreeParser, load_model
from distsvm.errors import ConfigError, DataError
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import score_trees

TREES = make_treebank(90, max_length=12, seed=0)
TRAIN, TEST = TREES[:60], TREES[60:]
X_TRAIN, X_TEST = ([tree.sentence() for tree in trees] for trees in (TRAIN, TEST))
QUICK = {"executor": "serial", "C_per_example": 1.0, "rel_gap": 0.1}


@pytest.fixture(scope="module")
def fitted():
    return TreeParser(**QUICK).fit(X_TRAIN, TRAIN)


def test_trees_alone_are_sentences_with_their_trees(fitted):
    again = clone(fitted).fit(TRAIN)
    np.testing.assert_array_equal(again.w_, fitted.w_)
    assert again.predict(TEST) == fitted.predict(X_TEST)
    assert again.score(TEST) == fitted.score(X_TEST, TEST)
    lists = [[list(token) for token in x] for x in X_TRAIN]
    np.testing.assert_array_equal(clone(fitted).fit(lists, TRAIN).w_, fitted.w_)


def test_the_scores_are_those_of_evalb(fitted):
    found = fitted.predict(X_TEST)
    expected = score_trees(TEST, found)
    assert fitted.evaluate(X_TEST, TEST) == expected
    assert fitted.score(X_TEST, TEST) == pytest.approx(expected.f1)
    weight = np.where(np.arange(len(TEST)) < 5, 2.0, 1.0)
    twice = score_trees([*TEST, *TEST[:5]], [*found, *found[:5]])
    assert fitted.score(TEST, sample_weight=weight) == pytest.approx(twice.f1)


def test_the_baseline_has_the_frequencies_of_rules(fitted):
    baseline = fitted.baseline_
    np.testing.assert_array_equal(baseline.w, fitted.task_.likelihood_weights())
    assert score_trees(TEST, baseline.predict(X_TEST)).f1 > 0.5
    assert not np.array_equal(baseline.w, fitted.w_)


def test_the_best_few_trees_come_with_their_scores(fitted):
    ranked = fitted.predict_n_best(X_TEST, 3)
    assert [one[0][0] for one in ranked] == fitted.predict(X_TEST)
    for one, x in zip(ranked, X_TEST, strict=True):
        scores = [score for _, score in one]
        assert scores == sorted(scores, reverse=True)
        assert len({str(tree) for tree, _ in one}) == len(one)
        for tree, score in one:
            psi = fitted.task_.joint_features(x, tree)
            assert psi.value @ fitted.w_[psi.index] == pytest.approx(score)
    assert max(map(len, ranked)) == 3
    with pytest.raises(ConfigError, match="k=0"):
        fitted.predict_n_best(X_TEST, 0)


def test_span_features_are_the_same_on_executors_and_fit_better():
    options = {**QUICK, "span_features": "default", "n_shards": 3}
    one, two = (TreeParser(**{**options, "executor": e}).fit(TRAIN) for e in ("serial", "threads"))
    np.testing.assert_array_equal(one.w_, two.w_)
    assert one.result_.gap >= 0
    assert one.task_.dim > len(one.task_.grammar.rules)
    assert one.score(TRAIN) >= 0.9


def test_the_arguments_reach_the_task():
    arguments = {
        "loss": "brackets", "loss_scale": 2.0, "max_chain": 2, "memory_mb": 64.0, "unfit": "drop",
        "words": True, "min_word_count": 3, "span_features": "words", "min_span_count": 3,
    }  # fmt: skip
    task = clone(TreeParser(**QUICK, **arguments)).fit(TRAIN).task_
    assert (task.losses, task.loss_scale, task.max_chain) == ("brackets", 2.0, 2)
    assert (task.memory_mb, task.unfit) == (64.0, "drop")
    assert (task.words, task.min_word_count) == (True, 3)


def test_a_grammar_over_words_needs_no_tags():
    parser = TreeParser(**QUICK, words=True).fit(TRAIN)
    sentences = [[word for word, _ in x] for x in X_TEST]
    found = parser.predict(sentences)
    assert found == parser.predict(TEST)
    assert [[word for word, _ in tree.sentence()] for tree in found] == sentences
    assert parser.evaluate(TEST) == parser.evaluate(sentences, TEST) == score_trees(TEST, found)
    assert parser.score(TEST) > 0.5


def test_grid_search_takes_lists_of_trees():
    search = GridSearchCV(TreeParser(**QUICK), {"loss": ["f1", "zero-one"]}, cv=2).fit(TRAIN)
    assert 0.5 < search.best_score_ <= 1.0


def test_a_pickled_parser_predicts_the_same(fitted):
    assert pickle.loads(pickle.dumps(fitted)).predict(X_TEST) == fitted.predict(X_TEST)


def test_files_and_memory_give_the_same_parser(fitted, tmp_path):
    # A name that does not say what the file is, so the format has to be remembered.
    write_treebank(tmp_path / "train.txt", TRAIN)
    write_treebank(tmp_path / "test.txt", TEST)
    parser = TreeParser(**QUICK, data_options={"format": "treebank"}).fit(tmp_path / "train.txt")
    np.testing.assert_array_equal(parser.w_, fitted.w_)
    path = str(tmp_path / "test.txt")
    assert parser.predict(path) == fitted.predict(X_TEST)
    assert parser.evaluate(path) == fitted.evaluate(TEST)
    assert parser.baseline_.predict(path) == fitted.baseline_.predict(X_TEST)
    parser.model_.save(tmp_path / "model")
    assert load_model(tmp_path / "model").predict(path) == fitted.predict(X_TEST)


def test_a_sentence_outside_the_grammar_gets_a_flat_tree_and_is_counted(fitted):
    tree = Tree.parse("(S (XX strange) (YY words))")
    assert str(fitted.predict([tree])[0]) == "(TOP (XX strange) (YY words))"
    assert fitted.evaluate([*TEST, tree]).n_outside == 1


def test_bad_input_is_refused(fitted, tmp_path):
    (tmp_path / "table.svm").write_text("1 1:1\n")
    with pytest.raises(DataError, match=r"table\.svm.*rows of features, expected trees"):
        TreeParser(**QUICK).fit(tmp_path / "table.svm")
    with pytest.raises(DataError, match="requires y"):
        TreeParser(**QUICK).fit(X_TRAIN)
    with pytest.raises(DataError, match=r"example 1: .*words"):
        TreeParser(**QUICK).fit(X_TRAIN[:2], [TRAIN[0], TRAIN[5]])
    with pytest.raises(DataError, match="expected a Tree"):
        TreeParser(**QUICK).fit(X_TRAIN, [("S", "A")] * len(X_TRAIN))
    with pytest.raises(ConfigError, match="loss='f2'"):
        TreeParser(**QUICK, loss="f2").fit(TRAIN)
    with pytest.raises(ConfigError, match="rescaling"):
        TreeParser(**QUICK, loss="brackets", rescaling="slack").fit(TRAIN)
    with pytest.raises(DataError, match="outputs y are missing"):
        fitted.evaluate(X_TEST)
    with pytest.raises(DataError, match="example 0: the tree has 3 words, the sentence 9"):
        fitted.evaluate(X_TEST[:1], TEST[1:2])
