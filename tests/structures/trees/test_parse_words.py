"""Grammars on words: tags are searched for too, and new words never leave a sentence out."""

import logging
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from parse_enumeration import CASES, all_trees, check_best, check_most_violated, score, weights

from distsvm import Callback, load_model, train
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.structures.trees.lexicon import (
    ANY,
    Lexicon,
    learn_tag_rules,
    uses_of_words,
    word_classes,
)
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import TOP, Tree
from distsvm.testing import check_task
from distsvm.vectors import to_dense

KINDS = st.sampled_from(["ties", "normal", "holes"])


@lru_cache(maxsize=400)
def problem(seed):
    """A random grammar over a random lexicon, a sentence of words and all its trees."""
    rng = np.random.default_rng(seed)
    tags, phrases = ["'a'", "'b'", "'c'"], ["X", "Y"][: rng.integers(1, 3)]
    rules = {f"{TOP} -> X", f"X -> {rng.choice(tags)}"}
    for _ in range(rng.integers(3, 8)):
        size = rng.choice([1, 2, 3], p=[0.3, 0.5, 0.2])
        rules.add(f"{rng.choice(phrases)} -> {' '.join(rng.choice(tags + phrases, size))}")
    rules = sorted(map(str, rules))
    known = [tag for tag in tags if any(tag in rule for rule in rules)]
    options = {}
    for name in ("->", "w"):  # words may be anything
        chosen = rng.choice(known, rng.integers(1, len(known) + 1), replace=False)
        options[name] = sorted({str(tag)[1:-1] for tag in chosen})
    options[ANY] = [tag[1:-1] for tag in known]
    tag_rules = [f"'{tag}' -> {word}" for word in ("->", "w") for tag in options[word]]
    tag_rules += [f"'{tag}' ~> {ANY}" for tag in options[ANY]]
    x = tuple(map(str, rng.choice(["->", "w", "New"], rng.integers(1, 5))))
    possible = [options.get(word, options[ANY]) for word in x]
    trees = all_trees(rules, (), 2, possible, x)
    return (*rules, *tag_rules), x, trees


@settings(max_examples=250)
@given(st.integers(0, 10**6), KINDS)
def test_best_tree_equals_enumeration(seed, kind):
    rules, x, trees = problem(seed)
    assume(len(trees) < 2000)
    task = ParseTask(rules=rules, max_chain=2, words=True)
    check_best(task, weights(seed, task.dim, kind), x, trees)


@settings(max_examples=400)
@given(st.integers(0, 10**6), KINDS, st.sampled_from(CASES))
def test_most_violated_tree_equals_enumeration(seed, kind, case):
    losses, rescaling = case
    rules, x, trees = problem(seed)
    assume(1 <= len(trees) < 1000)
    task = ParseTask(losses, 3.0, rules=rules, max_chain=2, words=True)
    check_most_violated(task, weights(seed, task.dim, kind), x, trees, rescaling, seed)


@pytest.mark.parametrize("losses", ["zero-one", "brackets", "f1", "f1-brackets"])
def test_words_pass_check_task(losses):
    done = 0
    for seed in range(40):
        rules, x, trees = problem(seed)
        if 3 <= len(trees) < 60:
            done += 1
            task = ParseTask(losses, rules=rules, max_chain=2, words=True, longest=len(x))
            examples = [(x, tree) for tree in trees[:3]]
            check_task(task, examples, outputs=lambda x, trees=trees: trees, n_points=3)
    assert done >= 4


def test_ties_go_to_the_lowest_tag():
    rules = ("TOP -> A", "A -> 'x'", "A -> 'y'", "'y' -> w", "'x' -> w")
    task = ParseTask("zero-one", rules=rules, words=True)
    assert str(task.decode(np.zeros(5), ["w"])) == "(A (x w))"
    found = task.separate(np.zeros(5), ["w"], Tree.parse("(A (x w))"), "margin")
    assert str(found) == "(A (y w))"


# --- the lexicon ----------------------------------------------------------------------------


@given(st.text("aB1-é.", min_size=1, max_size=7), st.booleans())
def test_classes_go_from_special_to_general(word, first):
    ladder = word_classes(word, first)
    assert ladder[-1] == ANY
    assert len(set(ladder)) == len(ladder)
    assert all(name.startswith(ladder[-2]) for name in ladder[:-1])
    assert sorted(ladder[:-1], key=len, reverse=True) == list(ladder[:-1])
    assert ("-digit" in ladder[-2]) == any(c.isdigit() for c in word)
    assert ("-hyphen" in ladder[-2]) == ("-" in word)


@pytest.mark.parametrize(
    ("word", "first", "expected"),
    [
        ("walking", False, ("lower:ing", "lower:ng", "lower:g", "lower", "any")),
        ("Walking", True, ("first-capital:ing", "first-capital:ng", "first-capital:g",
                           "first-capital", "any")),
        ("Ohio", False, ("capital:io", "capital:o", "capital", "any")),
        ("IBM", False, ("capitals:m", "capitals", "any")),
        ("12.5", False, ("other-digit", "any")),
        ("A", False, ("capital", "any")),
        ("mid-1990s", False, ("lower-digit-hyphen:s", "lower-digit-hyphen", "any")),
    ],
)  # fmt: skip
def test_classes_by_hand(word, first, expected):
    assert word_classes(word, first) == expected


def test_rare_words_become_classes_and_frequent_ones_do_not():
    uses = {}
    for text in ["(S (N dog) (V barks))", "(S (N dog) (V runs))", "(S (N Rex) (V dog))"]:
        for use in uses_of_words(Tree.parse(text)):
            uses[use] = uses.get(use, 0.0) + 1.0
    assert learn_tag_rules(uses, 2) == {
        "'N' -> dog": 2.0, "'V' -> dog": 1.0, "'V' ~> lower:s": 2.0, "'V' ~> lower": 2.0,
        "'V' ~> any": 2.0, "'N' ~> any": 1.0,
    }  # fmt: skip
    everything = learn_tag_rules(uses, 1)
    assert everything["'N' ~> any"] == 3.0
    assert everything["'V' ~> any"] == 3.0
    lexicon = Lexicon.of(learn_tag_rules(uses, 2), {"N": 0, "V": 1})
    entries = lexicon.entries(["dog", "talks", "Zoe", "dog"])
    own = [lexicon.tags.row(entry).tolist() for entry in entries]
    assert own == [[0, 1], [1], [0, 1], [0, 1]]
    assert entries[1] == lexicon.classes["lower:s"]
    assert entries[2] == lexicon.classes[ANY]


def prepared(trees, weight=None, **options):
    task = ParseTask(words=True, **options)
    shard = Shard([tree.sentence() for tree in trees], trees, weight)
    return task.prepare(task.scan(shard)), shard


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 5), st.text("aZ-9", min_size=1, max_size=6))
def test_no_sentence_is_lost_for_a_new_word(seed, min_word_count, new):
    trees = make_treebank(12, max_length=8, seed=seed)
    task, shard = prepared(trees, min_word_count=min_word_count)
    oracle = task.oracle(shard, "margin")
    assert not oracle.unfit()
    w = task.likelihood_weights()
    assert np.isfinite(w).all()
    leaf = next(leaf for tree in trees for leaf in tree.leaves() if leaf.word not in ".,!")
    alone, _ = prepared([Tree("S", (leaf,))], min_word_count=min_word_count)
    assert alone.decode(np.zeros(alone.dim), [new]) == Tree("S", (Tree(leaf.label, word=new),))
    for tree in trees:
        words = [word for word, _ in tree.sentence()]
        found = task.decode(w, words)
        assert [leaf.word for leaf in found.leaves()] == words
        assert found.label != TOP


def test_the_task_does_not_depend_on_the_sharding():
    trees = make_treebank(40, seed=3)
    whole, _ = prepared(trees)
    task = ParseTask(words=True)
    parts = [
        task.scan(Shard([t.sentence() for t in part], part, None))
        for part in (trees[30:], trees[:5], trees[5:30])
    ]
    joined = task.prepare(parts[0] + parts[1] + parts[2])
    assert (joined.rules, joined.chains) == (whole.rules, whole.chains)
    np.testing.assert_array_equal(joined.counts, whole.counts)
    assert whole.features == whole.rules


def test_likelihood_weights_include_tag_rules():
    trees = [Tree.parse("(S (N dog) (V barks))"), Tree.parse("(S (N cat) (V dog))")] * 2
    trees.append(Tree.parse("(S (N Rex) (V barks))"))
    task, _ = prepared(trees)
    p = dict(zip(task.features, np.exp(task.likelihood_weights()), strict=True))
    assert np.isclose(p["S -> 'N' 'V'"], 1.0)
    assert np.isclose(p["'N' -> dog"], 2 / 5)
    assert np.isclose(p["'V' -> barks"], 3 / 5)
    assert np.isclose(p["'N' ~> any"], 1 / 5)


def test_words_in_any_form_and_tags_that_are_not_looked_at():
    task, shard = prepared(make_treebank(30, seed=1))
    w = task.likelihood_weights()
    for x in shard.x[:5]:
        words = [word for word, _ in x]
        found = task.decode(w, words)
        assert found == task.decode(w, x)
        assert found == task.decode(w, [(word, "strange") for word in words])


def test_sentences_outside_the_grammar_get_flat_trees_with_the_usual_tags(caplog):
    trees = [Tree.parse("(S (N dog) (V runs))")] * 2 + [Tree.parse("(S (N runs) (V runs))")]
    task, _ = prepared(trees)
    with caplog.at_level(logging.WARNING):
        found = task.decode(np.zeros(task.dim), ["dog", "runs", "new"])
    assert "1 of 1 sentences are outside the grammar" in caplog.text
    assert found.label == TOP
    assert [leaf.label for leaf in found.leaves()][:2] == ["N", "V"]
    given = ParseTask(rules=("TOP -> 'N'", "'N' -> dog"), words=True)
    assert str(given.decode(np.zeros(2), ["cat"])) == "(TOP (X cat))"


def test_tags_that_a_word_cannot_have_are_evaluated_but_not_trained_on():
    task, _ = prepared([Tree.parse("(S (N dog) (V runs))"), Tree.parse("(S (N cat) (V runs))")] * 2)
    strange = Tree.parse("(S (N runs) (V dog))")
    oracle = task.oracle(Shard([strange.sentence()], [strange], None, first=4), "margin")
    with pytest.raises(DataError, match="example 4: the word 'dog' cannot have the tag 'V'"):
        oracle.check_fit()
    outputs = oracle.decode(oracle.view(np.zeros(task.dim)), np.zeros(1, np.int64))
    assert not oracle.correct(np.zeros(1, np.int64), outputs).any()


def test_size_is_that_of_the_joint_features():
    trees = [Tree.parse("(S (N dog) (N dog) (V runs))"), *make_treebank(3)]
    task, shard = prepared(trees, min_word_count=1)
    square, _ = task.oracle(shard, "margin").size(np.arange(1.0, 5.0))
    psi = [to_dense(task.joint_features(None, tree)) for tree in trees]
    assert np.isclose(square, sum(c * p @ p for c, p in zip(range(1, 5), psi, strict=True)))


def test_carry_keeps_the_weights_of_words():
    trees = make_treebank(20, seed=0)
    old, _ = prepared(trees[:10], min_word_count=1)
    new, _ = prepared(trees, min_word_count=1)
    w = np.random.default_rng(0).standard_normal(old.dim)
    moved = new.carry(w, old)
    for tree in trees[:10]:
        assert np.isclose(score(new, moved, tree), score(old, w, tree))


def test_bad_words_are_refused():
    tree = Tree.parse("(S (N dogs) (V see))")
    for x, message in [
        (["dogs"], "example 5: the tree has 2 words, the sentence 1"),
        (["dogs", "saw"], "example 5: word 1 is 'see' in the tree, 'saw' in the sentence"),
        (["dogs", "("], r"the word '\(' is blank or has spaces or brackets"),
        (["dogs", ""], "the word '' is blank"),
        (["dogs", "see it"], "the word 'see it' is blank or has spaces"),
        ([1, 2], r"a sentence has the item 1, expected \(word, tag\), or a word"),
    ]:
        with pytest.raises(DataError, match=message):
            ParseTask(words=True).scan(Shard([x], [tree], None, first=5))
    with pytest.raises(ConfigError, match="min_word_count"):
        ParseTask(min_word_count=0)
    with pytest.raises(ConfigError, match="'N' -> dog is a tag rule"):
        _ = ParseTask(rules=("TOP -> 'N'", "'N' -> dog")).lexicon


# --- training -------------------------------------------------------------------------------


TREES = make_treebank(100, seed=0)


def go(losses="f1", executor="serial", **more):
    inputs = [[word for word, _ in tree.sentence()] for tree in TREES]
    task = ParseTask(losses, words=True)
    config = {"C": 100.0, "eps": 0.02, "n_shards": 4, "n_blocks": 2, "max_rounds": 200}
    return train(task, inputs, TREES, executor=executor, **config | more)


class EndAfterSix(Callback):
    def on_round(self, record):
        return record.number == 6


@pytest.mark.parametrize("losses", ["zero-one", "brackets", "f1"])
def test_every_executor_gives_the_same_bits(losses):
    expected = go(losses)
    for executor in ("threads", "processes"):
        result = go(losses, executor, n_workers=2)
        assert np.array_equal(result.model.w, expected.model.w)


def test_a_saved_model_parses_alike_and_runs_resume(tmp_path):
    whole = go(run_dir=str(tmp_path / "whole"))
    go(run_dir=str(tmp_path / "part"), callbacks=[EndAfterSix()])
    again = go(run_dir=str(tmp_path / "part"), resume=True)
    assert np.array_equal(again.model.w, whole.model.w)
    whole.model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    inputs = [[word + "x" * (i % 3) for word, _ in tree.sentence()] for i, tree in enumerate(TREES)]
    assert loaded.predict(inputs) == whole.model.predict(inputs)
    assert loaded.evaluate(inputs[::3], TREES[::3]).n_examples == len(TREES[::3])
