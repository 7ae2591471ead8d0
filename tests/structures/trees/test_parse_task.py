"""Parsing: the compiled oracle equals enumeration of all trees, for every loss and rescaling."""

import logging
import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from parse_enumeration import (
    CASES,
    all_trees,
    check_best,
    check_most_violated,
    grammar_of,
    score,
    weights,
)

from distsvm import train
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.messages import Planes
from distsvm.model import Model, load_model
from distsvm.oracles.task import PENALTIES
from distsvm.structures.trees import grammar
from distsvm.structures.trees.rows import TreeRows
from distsvm.structures.trees.span_table import pairs_of, to_bytes
from distsvm.structures.trees.span_templates import SpanTemplates
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import TOP, Tree
from distsvm.testing import check_task
from distsvm.vectors import to_dense


@lru_cache(maxsize=400)
def problem(seed):
    """A random grammar, a sentence and all its trees; unary loops and long rules are frequent."""
    rng = np.random.default_rng(seed)
    tags, phrases = (
        ["'a'", "'b'", "'c'"][: rng.integers(1, 4)],
        ["X", "Y", "Z"][: rng.integers(1, 4)],
    )
    children = tags + phrases
    rules = {f"{TOP} -> {phrase}" for phrase in phrases[: rng.integers(1, 3)]}
    rules.add(f"X -> {rng.choice(tags)}")
    for _ in range(rng.integers(3, 9)):
        size = rng.choice([1, 2, 3, 4], p=[0.3, 0.4, 0.2, 0.1])
        lhs = TOP if rng.random() < 0.1 else rng.choice(phrases)
        rules.add(f"{lhs} -> {' '.join(rng.choice(children, size))}")
    given = []
    if "X -> X" in rules:
        given += [["X => X"], ["X => X => X"], ["X => X", "X => X => X"]][seed % 3]
    elif "X -> Y" in rules and "Y -> X" in rules:
        given.append("X => Y => X")
    rules = tuple(sorted(map(str, rules)))
    known = sorted({s[1:-1] for rule in rules for s in rule.split() if s[0] == "'"})
    sentence = tuple(map(str, rng.choice(known, rng.integers(1, 6))))
    max_chain = int(rng.integers(1, 4))
    return rules, tuple(given), max_chain, sentence, all_trees(rules, given, max_chain, sentence)


KINDS = st.sampled_from(["ties", "normal", "holes"])


@settings(max_examples=400)
@given(st.integers(0, 10**6), KINDS)
def test_best_tree_equals_enumeration(seed, kind):
    rules, chains, max_chain, sentence, trees = problem(seed)
    assume(len(trees) < 2000)
    task = ParseTask(rules=rules, chains=chains, max_chain=max_chain)
    x = tuple((f"w{i}", tag) for i, tag in enumerate(sentence))
    check_best(task, weights(seed, task.dim, kind), x, trees)


@settings(max_examples=400)
@given(st.integers(0, 10**6), KINDS, st.sampled_from(CASES), st.sampled_from(sorted(PENALTIES)))
def test_most_violated_tree_equals_enumeration(seed, kind, case, penalty):
    losses, rescaling = case
    rules, chains, max_chain, _, trees = problem(seed)
    assume(1 <= len(trees) < 1000)
    task = ParseTask(losses, 3.0, rules=rules, chains=chains, max_chain=max_chain)
    assume(penalty in task.penalties)
    w = weights(seed, task.dim, kind)
    check_most_violated(task, w, trees[0].sentence(), trees, rescaling, seed, penalty)


SPANS = "tag[first]; word[last]; tag[before]; tag[after] & span"


def with_span_features(trees, rules, **options):
    """A task with about half of the pairs that some of the trees have."""
    pairs = sorted({p for t in trees[::2] for p in pairs_of(t, SpanTemplates.parse(SPANS))})
    data = to_bytes(pairs[:: 1 + len(pairs) % 2])
    return ParseTask(rules=rules, span_features=SPANS, span_pairs=data, **options)


@settings(max_examples=300)
@given(st.integers(0, 10**6), KINDS, st.sampled_from(CASES), st.sampled_from(sorted(PENALTIES)))
def test_searches_with_span_features_equal_enumeration(seed, kind, case, penalty):
    losses, rescaling = case
    rules, chains, max_chain, _, trees = problem(seed)
    assume(1 <= len(trees) < 300)
    options = {"losses": losses, "loss_scale": 3.0, "chains": chains, "max_chain": max_chain}
    task = with_span_features(trees, rules, **options)
    assume(penalty in task.penalties)
    w, x = weights(seed, task.dim, kind), trees[0].sentence()
    check_best(task, w, x, trees)
    check_most_violated(task, w, x, trees, rescaling, seed, penalty)


@settings(max_examples=200)
@given(st.integers(0, 10**6), KINDS, st.integers(1, 6), st.booleans())
def test_n_best_trees_are_distinct_sorted_and_the_best(seed, kind, k, spans):
    rules, chains, max_chain, _, trees = problem(seed)
    assume(1 <= len(trees) < 500)
    options = {"chains": chains, "max_chain": max_chain}
    task = (
        with_span_features(trees, rules, **options) if spans else ParseTask(rules=rules, **options)
    )
    w, x = weights(seed, task.dim, kind), trees[0].sentence()
    oracle = task.oracle(task.shard([x, x]), "margin")
    found, scores = oracle.n_best(oracle.view(w), np.arange(2), k)
    expected = sorted((score(task, w, tree) for tree in trees), reverse=True)
    expected = [value for value in expected if value > -np.inf][:k]
    ranked = oracle.public(found)
    assert len(ranked) == 2 * max(1, len(expected))
    for i in range(2):
        np.testing.assert_allclose(scores.row(i), expected or [-np.inf], atol=1e-9)
        own = ranked[i * len(scores.row(i)) :][: len(expected)]
        assert len(set(own)) == len(own)
        np.testing.assert_allclose([score(task, w, tree) for tree in own], expected, atol=1e-9)
        assert all(tree in trees for tree in own)
    if not expected:
        assert ranked[0] == task.decode(w, x)


def test_span_features_of_the_data_are_those_of_the_true_nodes():
    trees = small_treebank()
    task, shard = prepared(trees, span_features="tag[first]; span & word[after]", min_span_count=1)
    texts = set(task.span_table.texts)
    assert "\ttag[first]=D\tNP -> 'D' 'N'" in texts
    assert "\tspan&word[after]=2&with\tNP -> 'D' 'N'" in texts
    assert "\tspan&word[after]=1&</s>\tTOP -> NP" in texts
    assert texts == {p for t in trees for p in pairs_of(t, task.templates)}
    often, _ = prepared(trees, span_features="tag[first]; span & word[after]", min_span_count=3)
    assert 0 < len(often.span_table.texts) < len(texts)
    oracle = task.oracle(shard, "margin")
    for i, tree in enumerate(trees):
        index, value, _ = oracle.features(np.array([i]), oracle.truths(np.array([i])))
        psi = np.zeros(task.dim)
        np.add.at(psi, index, value)
        np.testing.assert_array_equal(psi, to_dense(task.joint_features(None, tree)))
        assert psi[-len(texts) :].sum() == sum(1 for _ in pairs_of(tree, task.templates))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"span_features": "word"}, "the template 'word' of spans"),
        ({"span_features": "word[-1]"}, "the template 'word\\[-1\\]' of spans"),
        ({"span_features": "column(1)[first]"}, "the template 'column"),
        ({"span_features": " ; "}, "at least one template"),
        ({"span_features": "tag[first]", "words": True}, "reads tags"),
        ({"span_features": "default", "words": True}, "span_features='words'|for these"),
        ({"min_span_count": 0}, "min_span_count=0"),
    ],
)
def test_bad_span_features_are_refused(options, expected):
    with pytest.raises(ConfigError, match=expected):
        prepared(small_treebank(), **options)


def test_models_with_span_features_are_saved_and_warm_starts_keep_their_weights(tmp_path):
    trees = small_treebank()
    task, shard = prepared(trees, span_features="default", min_span_count=1)
    w = np.random.default_rng(0).standard_normal(task.dim)
    Model(task, w).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.predict(shard.x) == [task.decode(w, x) for x in shard.x]
    plain, _ = prepared(trees)
    np.testing.assert_array_equal(plain.carry(w, task), w[: plain.dim])
    np.testing.assert_array_equal(task.carry(w[: plain.dim], plain)[: plain.dim], w[: plain.dim])
    np.testing.assert_array_equal(task.carry(w, task), w)
    assert task.likelihood_weights().size == task.dim
    (tmp_path / "bad").mkdir()
    bad = replace(task, span_pairs=to_bytes(["\tspan=1\tX -> Y"]))
    with pytest.raises(ValueError, match="X -> Y"):
        _ = bad.span_table


@pytest.mark.parametrize("losses", ["zero-one", "brackets", "f1", "f1-brackets"])
def test_parse_task_passes_check_task(losses):
    done = 0
    for seed in range(60):
        rules, chains, max_chain, sentence, trees = problem(seed)
        if 3 <= len(trees) < 60:
            done += 1
            given = {"rules": rules, "chains": chains, "max_chain": max_chain}
            task = ParseTask(losses, longest=len(sentence), **given)
            examples = [(tree.sentence(), tree) for tree in trees[:3]]
            check_task(task, examples, outputs=lambda x, trees=trees: trees, n_points=3)
    assert done >= 4


def test_trees_come_back_exactly_from_rows():
    for seed in range(200):
        rules, chains, max_chain, _, trees = problem(seed)
        if 1 <= len(trees) < 2000:
            task = ParseTask(rules=rules, chains=chains, max_chain=max_chain)
            oracle = task.oracle(task.shard([t.sentence() for t in trees], trees), "margin")
            rows = np.arange(len(trees))
            truth = oracle.truth
            assert oracle.public(TreeRows(truth.values, truth.starts, rows)) == trees
            assert not oracle.losses(rows, truth).any()
            assert len(set(oracle.keys(truth).tolist())) == len(trees)


def small_treebank():
    hats = "(PP (P with) (NP (N hats)))"
    return [
        Tree.parse("(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat))))"),
        Tree.parse(f"(S (NP (N dogs)) (VP (V see) (NP (NP (D a) (N cat)) {hats})))"),
        Tree.parse(f"(S (NP (N dogs)) (VP (V see) (NP (D a) (N cat)) {hats}))"),
        Tree.parse("(NP (N rain))"),
    ]


def prepared(trees, weight=None, **options):
    task = ParseTask(**options)
    shard = Shard([tree.sentence() for tree in trees], trees, weight)
    return task.prepare(task.scan(shard)), shard


def test_the_grammar_does_not_depend_on_the_sharding():
    trees = small_treebank()
    whole, _ = prepared(trees)
    task = ParseTask()
    parts = [
        task.scan(Shard([t.sentence() for t in part], part, None))
        for part in (trees[2:], trees[:1], trees[1:2])
    ]
    joined = task.prepare(parts[0] + parts[1] + parts[2])
    assert (joined.rules, joined.chains) == (whole.rules, whole.chains)
    np.testing.assert_array_equal(joined.counts, whole.counts)
    assert joined.grammar.chains == whole.grammar.chains


def test_likelihood_weights_are_relative_frequencies():
    task, _ = prepared(small_treebank(), weight=np.array([1.0, 1.0, 1.0, 2.0]))
    p = dict(zip(task.grammar.rules, np.exp(task.likelihood_weights()), strict=True))
    assert np.isclose(p["TOP -> S"], 3 / 5)
    assert np.isclose(p["TOP -> NP"], 2 / 5)
    assert np.isclose(p["VP -> 'V' NP"], 2 / 3)
    lefts = {rule.split()[0] for rule in p}
    for left in lefts:
        assert np.isclose(sum(v for rule, v in p.items() if rule.split()[0] == left), 1.0)


def test_sentences_outside_the_grammar_get_flat_trees_and_a_warning(caplog):
    task, _ = prepared(small_treebank())
    with caplog.at_level(logging.WARNING):
        assert task.decode(np.zeros(task.dim), [("odd", "XX"), ("dog", "N")]) == Tree.parse(
            "(TOP (XX odd) (N dog))"
        )
        assert task.decode(np.zeros(task.dim), ["D"]) == Tree.parse("(TOP (D D))")
    assert "1 of 1 sentences are outside the grammar" in caplog.text


@pytest.mark.parametrize("losses", ["zero-one", "brackets", "f1", "f1-brackets"])
def test_true_trees_outside_the_grammar_are_evaluated_but_not_trained_on(losses):
    task, _ = prepared(small_treebank(), losses=losses)
    strange = Tree.parse("(S (XP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat))))")
    other = Tree.parse("(FRAG (N dog) (Q which))")
    flat = Tree.parse("(S (D the) (N dog) (V sees) (D a) (N cat))")
    trees = [strange, other, flat]
    shard = Shard([tree.sentence() for tree in trees], trees, None, first=7)
    oracle = task.oracle(shard, "margin")
    rows = np.arange(3)
    outputs = oracle.decode(oracle.view(task.likelihood_weights()), rows)
    expected = {
        "zero-one": [1, 1, 1], "brackets": [2, 1, 3], "f1": [1 / 4, 1, 3 / 4],
        "f1-brackets": [1 / 4, 1, 3 / 5],
    }[losses]  # fmt: skip
    np.testing.assert_allclose(oracle.losses(rows, outputs), expected)
    assert not oracle.correct(rows, outputs).any()
    with pytest.raises(DataError, match="example 7: the tree has the rule S -> XP VP, which the"):
        oracle.check_fit()
    assert list(oracle.unfit()) == [0, 1, 2]
    with pytest.raises(DataError, match="example 0: the tree has the rule FRAG -> 'N' 'Q'"):
        task.separate(np.zeros(task.dim), other.sentence(), other, "margin")
    loop = Tree.parse("(NP (NP (N rain)))")
    chains = ParseTask(losses, rules=("TOP -> NP", "NP -> NP", "NP -> 'N'"), max_chain=2)
    with pytest.raises(DataError, match="the unary chain TOP => NP => NP => 'N', which"):
        chains.separate(np.zeros(3), loop.sentence(), loop, "margin")


def test_values_of_any_planes_in_any_order():
    trees = small_treebank()
    task, shard = prepared(trees, losses="brackets")
    oracle = task.oracle(shard, "margin")
    rng = np.random.default_rng(0)
    w = rng.standard_normal(task.dim)
    view, row = oracle.view(w), np.array([1, 2, 1, 2, 0])
    output = oracle.truth[np.array([2, 1, 1, 2, 0])]
    planes = Planes.linear(row, output, oracle.losses(row, output))
    values = oracle.values(view, planes)
    for i, (a, b) in enumerate([(1, 2), (2, 1), (1, 1), (2, 2), (0, 0)]):
        margin = score(task, w, trees[a]) - score(task, w, trees[b])
        assert np.isclose(values[i], task.loss(trees[a], trees[b]) - margin)


def test_slots_keep_and_checkpoints_give_back_planes():
    trees = small_treebank()
    task, shard = prepared(trees)
    oracle = task.oracle(shard, "margin")
    answer = oracle.separate(oracle.view(np.zeros(task.dim)), np.arange(4))
    slots = oracle.slots(3)
    slots[np.arange(4) * 3 + 1] = answer.planes.output
    back = slots[np.array([10, 1])]
    assert back.row(1).tolist() == answer.planes.output.row(0).tolist()
    assert back.row(0).tolist() == answer.planes.output.row(3).tolist()
    again = oracle.unpack(oracle.pack(answer.planes))
    assert np.array_equal(again.output.values, answer.planes.output.values)
    with pytest.raises(ValueError, match="lengths"):
        oracle.unpack(
            oracle.pack(Planes.linear(np.array([0]), oracle.truth[np.array([1])], np.ones(1)))
        )


def test_size_is_that_of_the_joint_features():
    trees = small_treebank()
    task, shard = prepared(trees)
    square, _ = task.oracle(shard, "margin").size(np.arange(1.0, 5.0))
    psi = [to_dense(task.joint_features(None, tree)) for tree in trees]
    assert np.isclose(square, sum(c * p @ p for c, p in zip(range(1, 5), psi, strict=True)))


def test_carry_keeps_the_weights_of_rules():
    trees = small_treebank()
    old, _ = prepared(trees[:2])
    new, _ = prepared(trees)
    w = np.random.default_rng(0).standard_normal(old.dim)
    moved = new.carry(w, old)
    for tree in trees[:2]:
        assert np.isclose(score(new, moved, tree), score(old, w, tree))


@pytest.mark.parametrize("losses", ["brackets", "f1", "zero-one"])
def test_a_sentence_that_takes_too_much_memory_is_refused_by_name_in_training(losses):
    tree = Tree("S", tuple(Tree("N", word="w") for _ in range(2000)))
    task, _ = prepared([tree], losses=losses, memory_mb=100.0)
    oracle = task.oracle(Shard([tree.sentence()], [tree], None, first=3), "margin")
    view = oracle.view(np.zeros(task.dim))
    with pytest.raises(DataError, match="example 3: a sentence of 2,000 words takes more"):
        oracle.separate(view, np.zeros(1, np.int64))


def test_a_sentence_that_takes_too_much_memory_gets_a_flat_tree_among_the_others(caplog):
    trees = small_treebank()
    long = Tree("S", tuple(Tree("N", word="w") for _ in range(2000)))
    mixed = [long, trees[0], long, long, *trees[1:], long]
    task, _ = prepared([*trees, long], memory_mb=100.0)
    w = np.random.default_rng(0).standard_normal(task.dim)
    expected = Model(task, w).predict([tree.sentence() for tree in trees], executor="serial")
    found = Model(task, w).predict([tree.sentence() for tree in mixed], executor="serial")
    flat = Tree("TOP", long.children)
    assert found == [flat, expected[0], flat, flat, *expected[1:], flat]
    assert f"4 of {len(mixed)} sentences are too long for memory_mb=100" in caplog.text


def test_training_names_the_sentence_that_takes_too_much_memory():
    trees = small_treebank() * 20
    long = Tree("S", tuple(Tree("N", word="w") for _ in range(2000)))
    inputs = [tree.sentence() for tree in (*trees, long)]
    message = "example 80: a sentence of 2,000 words takes more memory than 100 MB"
    with pytest.raises(DataError, match=message):
        train(
            ParseTask(memory_mb=100.0), inputs, [*trees, long], C=1.0, n_shards=2, executor="serial"
        )


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_f1_brackets_refuses_long_sentences_by_name_in_training_only(rescaling):
    trees = [Tree("S", tuple(Tree("N", word="w") for _ in range(n))) for n in (10, 11)]
    task, _ = prepared(trees, losses="f1-brackets")
    oracle = task.oracle(Shard([t.sentence() for t in trees], trees, None, first=5), rescaling)
    view = oracle.view(np.zeros(task.dim))
    message = "example 6: a sentence of 11 words; f1-brackets is a reference for at most 10"
    with pytest.raises(DataError, match=message):
        oracle.size(np.ones(2))
    with pytest.raises(DataError, match=message):
        oracle.separate(view, np.arange(2))
    outputs = oracle.decode(view, np.arange(2))
    assert oracle.public(outputs) == trees
    assert not oracle.losses(np.arange(2), outputs).any()


def test_f1_brackets_that_take_too_much_memory_are_refused_by_name():
    trees = small_treebank()
    task, shard = prepared(trees, losses="f1-brackets", memory_mb=0.05)
    oracle = task.oracle(shard, "margin")
    with pytest.raises(DataError, match="example 0: a sentence of 5 words takes more memory"):
        oracle.separate(oracle.view(np.zeros(task.dim)), np.arange(4))


@pytest.mark.parametrize("losses", ["f1", "f1-brackets"])
def test_memory_without_a_limit_gives_the_planes_and_trees_of_enough_memory(losses):
    trees, found = small_treebank(), []
    for memory_mb in (1024.0, math.inf):
        task, shard = prepared(trees, losses=losses, memory_mb=memory_mb)
        oracle = task.oracle(shard, "margin")
        view, which = oracle.view(np.ones(task.dim)), np.arange(4)
        planes = oracle.separate(view, which).planes
        found.append((planes.q, planes.output.values, oracle.decode(view, which).values))
    for enough, unlimited in zip(*found, strict=True):
        np.testing.assert_array_equal(enough, unlimited)


def test_deep_trees_need_no_recursion():
    tree = Tree("S", (Tree("N", word="w"), Tree("N", word="w")))
    for _ in range(3000):
        tree = Tree("S", (tree, Tree("N", word="w")))
    grammar = grammar_of([tree])
    assert len(grammar.rules) == 3
    task, shard = prepared([tree])
    oracle = task.oracle(shard, "margin")
    assert not oracle.losses(np.zeros(1, np.int64), oracle.truth).any()
    assert Tree.parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"losses": "hamming"}, "hamming"),
        ({"loss_scale": 0.0}, "loss_scale"),
        ({"loss_scale": np.nan}, "loss_scale"),
        ({"max_chain": 0}, "max_chain"),
        ({"memory_mb": -1.0}, "memory_mb"),
        ({"unfit": "skip"}, "unfit='skip'"),
    ],
)
def test_bad_settings_are_refused_by_name(change, message):
    with pytest.raises(ConfigError, match=message):
        ParseTask(**change)


def test_slack_rescaling_of_brackets_is_refused():
    task, shard = prepared(small_treebank(), losses="brackets")
    with pytest.raises(ConfigError, match="brackets loss has margin only"):
        task.oracle(shard, "slack")


def test_bad_examples_are_refused_by_number():
    tree = Tree.parse("(S (N dogs) (V see))")
    task = ParseTask()
    for x, y, message in [
        ([("dogs", "N")], tree, "example 5: the tree has 2 words, the sentence 1"),
        ([("dogs", "N"), ("see", "X")], tree, "example 5: word 1"),
        ([], tree, "example 5: a sentence is"),
        ("NV", tree, "example 5: a sentence is"),
        ([1, 2], tree, "example 5: a sentence has the item 1"),
        (tree.sentence(), ("S", "N", "V"), "example 5: the output is"),
        (tree.sentence(), "(S (N dogs)", "example 5: .*never closed"),
    ]:
        with pytest.raises(DataError, match=message):
            task.scan(Shard([x], [y], None, first=5))
    with pytest.raises(DataError, match="no trees"):
        task.prepare(task.scan(Shard([tree.sentence()], None, None)))


@settings(max_examples=60)
@given(st.integers(0, 10**6), KINDS)
def test_rows_that_are_searched_give_the_same_trees_as_rows_in_tables(seed, kind):
    rules, chains, max_chain, sentence, trees = problem(seed)
    assume(len(trees) < 2000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "SPARSEST", 0)
        task = ParseTask(rules=rules, chains=chains, max_chain=max_chain)
        assert not task.grammar.tables.pair_starts.size
        assert (task.grammar.tables.follow_row < 0).all()
    x = tuple((f"w{i}", tag) for i, tag in enumerate(sentence))
    check_best(task, weights(seed, task.dim, kind), x, trees)
