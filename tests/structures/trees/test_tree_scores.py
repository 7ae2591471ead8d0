"""Scores of trees as evalb counts them."""

import numpy as np
import pytest

from distsvm.errors import DataError
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import TreeScore, score_trees

TRUE = Tree.parse(
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (NP (N cats)) (PP (P in) (NP (N hats))))) (. .))"
)
FOUND = Tree.parse(
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (N cats)) (PP (P in) (NP (N hats)))) (. .))"
)


def test_counts_by_hand():
    score = score_trees([TRUE, TRUE], [TRUE, FOUND])
    assert score == TreeScore(2, 1, 14, 13, 13, 0)
    assert np.isclose(score.precision, 1.0)
    assert np.isclose(score.recall, 13 / 14)
    assert np.isclose(score.f1, 26 / 27)
    assert score.exact_match == 0.5


def test_scores_add_up():
    true, found = make_treebank(20, seed=0), make_treebank(20, seed=0)
    parts = score_trees(true[:7], found[:7]) + score_trees(true[7:], found[7:])
    assert parts == score_trees(true, found)
    assert parts.f1 == parts.exact_match == 1.0
    assert TreeScore().f1 == 0.0


def test_punctuation_is_taken_out_and_prt_is_advp():
    true = Tree.parse("(S (NP (N a)) (VP (V b) (PRT (R c)) (. .)))")
    found = Tree.parse("(S (NP (N a)) (VP (V b) (ADVP (R c))) (. .))")
    assert score_trees([true], [found]).n_exact == 1
    assert score_trees([true], [found], deleted_tags=()).n_matched == 3
    assert score_trees([true], [found], same_labels={}).n_matched == 3


def test_equal_brackets_count_as_often_as_both_have_them():
    true = Tree.parse("(S (NP (NP (N a))) (V b))")
    found = Tree.parse("(S (NP (N a)) (V b))")
    assert score_trees([true], [found]) == TreeScore(1, 0, 3, 2, 2, 0)


def test_top_counts_for_nothing_and_flat_trees_are_counted():
    true = Tree.parse("(TOP (S (N a) (V b)))")
    assert score_trees([true], [Tree.parse("(S (N a) (V b))")]).n_exact == 1
    flat = score_trees([true], [Tree.parse("(TOP (N a) (V b))")])
    assert flat == TreeScore(1, 0, 1, 0, 0, 1)


def test_predicted_tags_may_be_others_and_true_ones_say_what_is_punctuation():
    true = Tree.parse("(S (NP (N a)) (VP (V b) (NP (N c))) (. !))")
    found = Tree.parse("(S (NP (V a)) (VP (V b) (NP (. c))) (N !))")
    assert score_trees([true], [found]) == TreeScore(1, 1, 4, 4, 4, 0)
    assert score_trees([found], [true]) == TreeScore(1, 1, 3, 3, 3, 0)


def test_other_words_are_refused():
    with pytest.raises(DataError, match="tree 1"):
        score_trees([TRUE, TRUE], [TRUE, Tree.parse("(N a)")])
    with pytest.raises(DataError, match="tree 0"):
        score_trees([Tree.parse("(N a)")], [Tree.parse("(N b)")])
