"""CKY's kernels: ties, room for many prefixes, and rows that say what a tree is."""

from itertools import product

import numpy as np
from parse_enumeration import grammar_of

from distsvm.data.ragged import Ragged
from distsvm.data.shard import Shard
from distsvm.structures.trees.kernels import cky_rows
from distsvm.structures.trees.rows import encode
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree


def prepared(trees, **options):
    task = ParseTask(**options)
    shard = Shard([tree.sentence() for tree in trees], trees, None)
    return task.prepare(task.scan(shard)), shard


def test_spans_of_rows_are_those_of_the_binary_form():
    tree = Tree.parse("(S (A (x 1) (y 2) (z 3)) (B (x 4)))")
    row = np.array(encode(grammar_of([tree]), tree))
    begin, end = np.empty(7, np.int64), np.empty(7, np.int64)
    cky_rows.find_spans(row, begin, end)
    expected = [(0, 4), (0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (3, 4)]
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == expected


def test_ties_go_to_the_shorter_left_part():
    rules = ("TOP -> A", "A -> A A", "A -> 'x'")
    task = ParseTask(rules=rules)
    found = task.decode(np.zeros(3), ["x"] * 4)
    assert str(found) == "(A (A (x x)) (A (A (x x)) (A (A (x x)) (A (x x)))))"


def test_ties_of_chains_go_to_the_lowest():
    rules = ("TOP -> A", "TOP -> B", "A -> 'x'", "B -> 'x'")
    task = ParseTask("zero-one", rules=rules)
    assert str(task.decode(np.zeros(4), ["x"])) == "(A (x x))"
    truth = Tree.parse("(A (x x))")
    assert str(task.separate(np.zeros(4), ["x"], truth, "margin")) == "(B (x x))"


def test_a_sentence_with_one_tree_only_is_its_own_most_violated():
    tree = Tree.parse("(S (x 1) (y 2))")
    for losses in ("zero-one", "brackets", "f1", "f1-brackets"):
        task, shard = prepared([tree], losses=losses)
        for rescaling in task.rescalings:
            oracle = task.oracle(shard, rescaling)
            answer = oracle.separate(oracle.view(np.zeros(task.dim)), np.zeros(1, np.int64))
            assert (answer.value[0], answer.planes.loss[0]) == (0.0, 0.0)
            assert oracle.public(answer.planes.output) == [tree]


def many_prefixes():
    """All rules of four children over three tags: far more prefixes than the first room takes."""
    rules = [f"A -> {' '.join(rhs)}" for rhs in product(["'a'", "'b'", "'c'", "A"], repeat=4)]
    return ParseTask(rules=("TOP -> A", *rules)), [*"abc" * 8, "a"]


def test_lists_of_prefixes_grow():
    task, x = many_prefixes()
    w = np.random.default_rng(0).standard_normal(task.dim)
    tree = task.decode(w, x)
    score = sum(task.joint_features(x, tree).value)
    assert score == len(x) // 3 + 1  # a rule of four takes three words more; and the one from TOP
    # The whole of a long sentence is at least as good as any tree built around a best part.
    middle = task.decode(w, x[:-3])
    better = Tree("A", (middle, *(Tree(tag, word=tag) for tag in x[-3:])))
    scores = [task.joint_features(x, t) for t in (tree, better)]
    assert scores[0].value @ w[scores[0].index] >= scores[1].value @ w[scores[1].index] - 1e-9


def test_too_many_prefixes_give_a_flat_tree_and_a_note(caplog):
    task, x = many_prefixes()
    oracle = task.oracle(task.shard([x[:4], x * 4]), "margin")
    oracle.max_items = 500
    trees = oracle.public(oracle.decode(oracle.view(np.zeros(task.dim)), np.arange(2)))
    assert [(tree.label, len(tree.children)) for tree in trees] == [("A", 4), ("TOP", 100)]
    assert "1 of 2 sentences are too long for memory_mb=1024" in caplog.text


def test_answers_do_not_depend_on_the_others_in_the_call():
    trees = make_treebank(40, max_length=10, seed=2)
    for losses, rescaling in [
        ("zero-one", "margin"), ("brackets", "margin"), ("f1", "slack"), ("f1-brackets", "slack"),
    ]:  # fmt: skip
        task, shard = prepared(trees, losses=losses)
        oracle = task.oracle(shard, rescaling)
        view = oracle.view(np.random.default_rng(0).standard_normal(task.dim))
        whole = oracle.separate(view, np.arange(40))
        for row in range(40):
            alone = oracle.separate(view, np.array([row]))
            assert alone.value[0] == whole.value[row]
            assert np.array_equal(alone.planes.output.values, whole.planes.output.row(row))


def test_scores_and_sums_of_rows_agree():
    trees = make_treebank(30, seed=3)
    task, shard = prepared(trees)
    oracle = task.oracle(shard, "margin")
    w = np.random.default_rng(0).standard_normal(task.dim)
    view = oracle.view(w)
    for i, tree in enumerate(trees):
        counts = np.zeros(task.dim)
        row = Ragged.of([oracle.truth.row(i)], np.int32)
        words = oracle.words[np.array([i])]
        cky_rows.add_rules(
            oracle.tables, words.values, words.starts, row.values, row.starts, np.ones(1),
            *oracle.rule_arrays, counts,
        )  # fmt: skip
        psi = task.joint_features(None, tree)
        np.testing.assert_array_equal(np.flatnonzero(counts), psi.index)
        np.testing.assert_array_equal(counts[psi.index], psi.value)
        assert np.isclose(view.true_scores[i], counts @ w)
