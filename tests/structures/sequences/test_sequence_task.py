"""Sequence tagging: the compiled oracle equals enumeration, for every loss, order and rule."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sequence_examples import BIO, all_outputs, chains, drawn, prepared, rules, task_of

from distsvm.data.ragged import Ragged
from distsvm.errors import ConfigError, DataError
from distsvm.messages import Planes
from distsvm.model import Model, load_model
from distsvm.structures.sequences.names import Names
from distsvm.structures.sequences.task import SequenceTask
from distsvm.testing import check_task
from distsvm.vectors import to_dense

PAIRS = [("A", "C"), ("B", "B"), (None, "B"), ("A", None)]
COMBINATIONS = [
    (losses, order, allowed)
    for losses in ("hamming", "zero-one")
    for order in (1, 2)
    for allowed in (None, "bio", PAIRS)
]


def tags_for(allowed):
    return BIO if allowed == "bio" else ["A", "B", "C"]


@pytest.mark.parametrize(("losses", "order", "allowed"), COMBINATIONS)
def test_every_combination_passes_check_task(losses, order, allowed):
    tags = tags_for(allowed)
    inputs, outputs = drawn(1, tags=tags, allowed=allowed, length=3)
    task = prepared(task_of(losses, order, allowed, labels=np.array(tags)), inputs, outputs)
    check_task(task, list(zip(inputs, outputs, strict=True)), outputs=all_outputs(task), n_points=3)


MORE = [
    {},
    {"hash_bits": 3},
    {"transition_scale": 0.5},
    {"transition_features": "f1; f3", "transition_scale": 3.0},
    {"transition_features": "f0; f1; f2; f3; f4; f5"},
    {"tag_weight": {"O": 3.0, "B-X": 0.5}, "labels": np.array(BIO)},
    {"tag_weight": {"A": 2.0, "C": 4.0}, "transition_features": "f2"},
]


@settings(max_examples=120)
@given(
    st.integers(0, 10**6), st.sampled_from(COMBINATIONS), st.sampled_from(["margin", "slack"]),
    st.sampled_from(MORE),
)  # fmt: skip
def test_oracle_equals_enumeration(seed, combination, rescaling, more):
    losses, order, allowed = combination
    tags = tags_for(allowed)
    if "tag_weight" in more:
        assume(losses == "hamming" and more["tag_weight"].keys() <= {*tags})
    inputs, outputs = drawn(seed, tags=tags, allowed=allowed, length=3)
    features = more.get("transition_features", "").split("; ")
    assume(all(any(name in token for x in inputs for token in x) for name in features if name))
    task = task_of(losses, order, allowed, **{"labels": np.array(tags), **more})
    task = prepared(task, inputs, outputs)
    w = np.random.default_rng(seed).integers(-2, 3, task.dim) / 2.0  # plenty of ties
    w.flags.writeable = False
    oracle = task.oracle(task.shard(inputs, outputs), rescaling)
    rows = np.arange(len(inputs))[::-1].copy()
    answer = oracle.separate(oracle.view(w), rows)
    chosen = oracle.public(answer.planes.output)
    total = np.zeros(task.dim)
    for i, row in enumerate(rows):
        x, y = inputs[row], outputs[row]
        psi = to_dense(task.joint_features(x, y))
        values = {}
        for other in all_outputs(task)(x):
            delta, p = task.loss(y, other), psi - to_dense(task.joint_features(x, other))
            values[tuple(other)] = delta * (1 - p @ w) if rescaling == "slack" else delta - p @ w
        assert np.isclose(max(values.values()), answer.value[i])
        assert np.isclose(values[tuple(chosen[i])], answer.value[i])
        assert answer.planes.loss[i] == pytest.approx(task.loss(y, chosen[i]))
        p = psi - to_dense(task.joint_features(x, chosen[i]))
        total += (i + 1) * (answer.planes.loss[i] * p if rescaling == "slack" else p)
    out = np.zeros(task.dim)
    oracle.accumulate(answer.planes, np.arange(1.0, rows.size + 1), out)
    np.testing.assert_allclose(out, total, atol=1e-9)
    np.testing.assert_allclose(
        oracle.values(oracle.view(w), answer.planes), answer.value, atol=1e-9
    )


every_kind = pytest.mark.parametrize(
    ("order", "more"),
    [
        (1, {}),
        (2, {}),
        (1, {"transition_features": "f1; f2; f5", "transition_scale": 0.5}),
        (2, {"transition_features": "f1; f2; f5", "tag_weight": {"A": 2.5}}),
    ],
)


@every_kind
def test_values_and_sums_of_any_planes_in_any_order(order, more):
    inputs, outputs = drawn(3, n=8)
    task = prepared(task_of(order=order, **more), inputs, outputs)
    rng = np.random.default_rng(0)
    w = rng.standard_normal(task.dim)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    row = np.sort(rng.integers(0, 8, 60))
    row[:5] = row[:5][::-1]
    paths = Ragged.of([rng.integers(0, 3, len(inputs[r])) for r in row], np.int16)
    loss, total = oracle.losses(row, paths), np.zeros(task.dim)
    values = oracle.values(oracle.view(w), Planes.linear(row, paths, loss))
    weights = rng.standard_normal(60)
    for i, (r, path) in enumerate(zip(row, oracle.public(paths), strict=True)):
        p = to_dense(task.joint_features(inputs[r], outputs[r]))
        p = p - to_dense(task.joint_features(inputs[r], path))
        total += weights[i] * p
        assert np.isclose(values[i], task.loss(outputs[r], path) - p @ w)
    out = np.zeros(task.dim)
    oracle.accumulate(Planes.linear(row, paths, loss), weights, out)
    np.testing.assert_allclose(out, total, atol=1e-9)
    index, value, starts = oracle.flat(Planes.linear(row, paths, loss))
    out[:] = 0
    np.add.at(out, index, value * np.repeat(weights, np.diff(starts)))
    np.testing.assert_allclose(out, total, atol=1e-9)


@every_kind
def test_size_is_that_of_the_joint_features(order, more):
    inputs, outputs = drawn(4, n=9)
    task = prepared(task_of(order=order, **more), inputs, outputs)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    oracle.piece = 2
    weights = np.arange(1.0, 10)
    psi = [to_dense(task.joint_features(x, y)) for x, y in zip(inputs, outputs, strict=True)]
    square, radius = oracle.size(weights)
    assert np.isclose(square, sum(c * p @ p for c, p in zip(weights, psi, strict=True)))
    assert radius >= max(p @ p for p in psi)  # test_radius_bounds.py says more


@pytest.mark.parametrize("features", [None, "f0; f2"])
@pytest.mark.parametrize(("order", "allowed"), [(1, None), (2, None), (1, PAIRS), (2, PAIRS)])
def test_n_best_equals_enumeration_whatever_the_pieces(order, allowed, features):
    inputs, outputs = drawn(5, n=7, allowed=allowed)
    task = task_of(order=order, allowed=allowed, transition_features=features)
    task = prepared(task, inputs, outputs)
    w = np.random.default_rng(0).standard_normal(task.dim)
    oracle = task.oracle(task.shard(inputs), "margin")
    oracle.piece = 3
    found, scores = oracle.n_best(oracle.view(w), np.arange(7), 4)
    paths = oracle.public(found)
    assert paths == [
        path
        for i, x in enumerate(inputs)
        for path in sorted(
            all_outputs(task)(x), key=lambda y, x=x: -(to_dense(task.joint_features(x, y)) @ w)
        )[: len(scores.row(i))]
    ]
    best = np.cumsum([0, *scores.lengths[:-1]])
    assert [paths[i] for i in best] == oracle.public(oracle.decode(oracle.view(w), np.arange(7)))
    assert max(scores.lengths) == 4


def test_view_does_not_copy_the_emission_weights():
    inputs, outputs = drawn(0)
    task = prepared(task_of(), inputs, outputs)
    w = np.zeros(task.dim)
    assert np.shares_memory(task.oracle(task.shard(inputs), "margin").view(w).V, w)


# --- what prepare() learns ------------------------------------------------------------------


def test_dictionary_and_tags_are_the_same_whatever_the_sharding():
    inputs, outputs = chains(40)
    whole = prepared(SequenceTask(min_count=3), inputs, outputs)
    for cuts in ([0, 40], [0, 1, 17, 40], [0, 33, 35, 40]):
        task, summary = SequenceTask(min_count=3), None
        for a, b in pairwise(cuts):
            part = pickle.loads(pickle.dumps(task.scan(task.shard(inputs[a:b], outputs[a:b]))))
            summary = part if summary is None else summary + part
        task = task.prepare(summary)
        assert np.array_equal(task.labels, whole.labels)
        assert task.dictionary.tolist() == whole.dictionary.tolist()
        assert task.longest == whole.longest
    counts = {}
    for name in (name for x in inputs for token in x for name in token):
        counts[name] = counts.get(name, 0) + 1
    assert whole.dictionary.tolist() == sorted(n for n, c in counts.items() if c >= 3)


def test_names_are_found_and_strange_ones_too():
    names = ["", "a", "é", "東京", "a b", "x" * 300, "a\x00", "a\x00\x00", "\udc80"]
    table = Names.of(names)
    assert table.tolist() == names
    other = Names.of(["zz", *names[::-1], "a\x00\x00\x00"])
    assert table.find(other).tolist() == [-1, *range(len(names))[::-1], -1]
    assert Names.of([]).find(other).tolist() == [-1] * len(other)
    assert table.find(Names.of([])).size == 0


def test_unknown_features_are_ignored():
    inputs, outputs = drawn(0)
    task = prepared(task_of(), inputs, outputs)
    w = np.random.default_rng(0).standard_normal(task.dim)
    more = [[{**t, "new": 9.0} if isinstance(t, dict) else [*t, "new"] for t in x] for x in inputs]
    for x, strange in zip(inputs, more, strict=True):
        assert task.decode(w, strange) == task.decode(w, x)
        assert np.array_equal(
            to_dense(task.joint_features(x, task.decode(w, x))),
            to_dense(task.joint_features(strange, task.decode(w, x))),
        )


@pytest.mark.parametrize("features", [None, "f1; f2"])
def test_carry_keeps_the_scores_of_old_features_and_tags(features):
    inputs, outputs = drawn(0, tags=("A", "C"), n_names=4)
    more, tags = drawn(1, n=8, tags=("A", "B", "C", "D"), n_names=9)
    old = prepared(task_of(transition_features=features), inputs, outputs)
    for order in (1, 2):
        new = task_of(order=order, transition_features=features, transition_scale=0.25)
        new = prepared(new, inputs + more, outputs + tags)
        w = np.random.default_rng(0).standard_normal(old.dim)
        carried = new.carry(w, old)
        for x, y in zip(inputs, outputs, strict=True):
            before = to_dense(old.joint_features(x, y)) @ w
            assert np.isclose(to_dense(new.joint_features(x, y)) @ carried, before)
    with pytest.raises(ConfigError, match="tag 'B'"):
        old.carry(np.zeros(new.dim), prepared(task_of(), more, tags))


def test_features_on_transitions_are_chosen_by_name_template_and_column():
    inputs = [[["word=a", "shape[-1]=x", "bias"], {"word": "b", "shape[-1]": "y", "suffix2": 2.0}]]
    outputs = [["X", "Y"]]
    for chosen, names in (
        ("word", ["word:b", "word=a"]),
        ("shape[-1..+1]; bias", ["bias", "shape[-1]:y", "shape[-1]=x"]),
        ("suffix2", ["suffix2"]),
        ("word=a", ["word=a"]),
    ):
        task = prepared(SequenceTask(transition_features=chosen), inputs, outputs)
        found = [task.dictionary.name(j) for j in task.step_columns]
        assert found == names
        assert task.dim == task.n_features * 2 + 4 + 4 + 4 * len(names)


# --- weights of tags ------------------------------------------------------------------------


def test_balanced_weights_make_every_tag_cost_the_same():
    inputs, outputs = drawn(2, n=12)
    task = prepared(task_of(tag_weight="balanced"), inputs, outputs)
    tags = [tag for y in outputs for tag in y]
    costs = {tag: task.loss([tag], [other]) for tag, other in zip("ABC", "BCA", strict=True)}
    for tag in "ABC":
        assert costs[tag] * tags.count(tag) == pytest.approx(1.5 * len(tags) / 3)
    assert task.loss_unit == pytest.approx(1.5 * len(tags) / len(inputs))
    check_task(task, list(zip(inputs, outputs, strict=True)), outputs=all_outputs(task), n_points=3)


def test_weights_of_tags_that_cannot_be_counted_are_refused_where_sums_are_searched():
    inputs, outputs = drawn(2, n=12)
    task = prepared(task_of(tag_weight={"A": np.pi}), inputs, outputs)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    with pytest.raises(ConfigError, match="whole multiples of one unit"):
        task.oracle(task.shard(inputs, outputs), "slack")
    with pytest.raises(ConfigError, match="whole multiples of one unit"):
        oracle.penalise("quadratic")


@pytest.mark.parametrize("more", [{"transition_features": "f1; f2"}, {"tag_weight": {"A": 3}}])
def test_a_saved_task_is_the_same_task(more, tmp_path):
    inputs, outputs = drawn(6, n=8)
    task = prepared(task_of(transition_scale=0.5, **more), inputs, outputs)
    w = np.random.default_rng(0).standard_normal(task.dim)
    Model(task, w).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.predict(inputs) == [task.decode(w, x) for x in inputs]
    assert again.task.loss(outputs[0], ["B"] * len(outputs[0])) == task.loss(
        outputs[0], ["B"] * len(outputs[0])
    )


# --- bad input ------------------------------------------------------------------------------

GOOD = ([[["a"], ["b"]], [["a"]]], [["X", "Y"], ["X"]])


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (GOOD[0], [["X", "Y"], ["X", "X"]], "example 1: 2 tags for 1 tokens"),
        (GOOD[0], [["X", "Y"]], "1 tag sequences for 2 sequences"),
        ([[["a"], "b"], [["a"]]], GOOD[1], "example 0: token 1: 'b' is no dict or list"),
        ([[["a"], ["b"]], "a"], GOOD[1], "example 1: 'a' is no list of tokens"),
        ([[["a"], [3]], [["a"]]], GOOD[1], "feature name 3"),
        ([[["a"], {"b": [1]}], [["a"]]], GOOD[1], "feature 'b' is"),
        (GOOD[0], [["X", 3], ["X"]], "example 0: the tag 3 is of type int"),
    ],
)
def test_bad_examples_are_refused_by_number(inputs, outputs, message):
    with pytest.raises(DataError, match=message):
        prepared(SequenceTask(), inputs, outputs)


def test_features_that_are_not_finite_are_refused():
    task = prepared(SequenceTask(), *GOOD)
    for value in (np.nan, np.inf):
        shard = task.shard([[["a"]], [["a"], {"b": value}]])
        with pytest.raises(DataError, match="example 1: feature 'b' is"):
            task.oracle(shard, "margin")


def test_unknown_tags_are_refused_by_name_in_training():
    task = prepared(SequenceTask(), *GOOD)
    with pytest.raises(DataError, match="example 1: tag 'Z' is not among the tags"):
        task.oracle(task.shard(GOOD[0], [["X", "Y"], ["Z"]]), "margin").check_fit()
    with pytest.raises(DataError, match="tag 'Z'"):
        task.loss(["X"], ["Z"])
    with pytest.raises(DataError, match="tag 'Y'"):
        prepared(SequenceTask(labels=np.array(["X"])), *GOOD)


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([("X", "Y")], "example 0: tag 'Y' after 'X' is not allowed"),
        ([(None, "X")], "example 0: tag 'X' after the start is not allowed"),
        ([("X", None)], "example 1: tag 'X' at the end is not allowed"),
    ],
)
def test_gold_tags_that_break_the_rules_are_evaluated_but_not_trained_on(allowed, message):
    task = prepared(SequenceTask(allowed=allowed), *GOOD)
    oracle = task.oracle(task.shard(*GOOD), "margin")
    with pytest.raises(DataError, match=message):
        oracle.check_fit()
    wrong = next(iter(oracle.unfit()))
    outputs = oracle.decode(oracle.view(np.zeros(task.dim)), np.arange(2))
    assert oracle.losses(np.arange(2), outputs)[wrong] > 0
    assert not oracle.correct(np.arange(2), outputs)[wrong]
    with pytest.raises(DataError, match="is not allowed"):
        task.separate(np.zeros(task.dim), GOOD[0][wrong], GOOD[1][wrong], "margin")


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["bio", PAIRS]))
def test_broken_rules_are_found_by_sequence(seed, allowed):
    tags = tags_for(allowed)
    inputs, outputs = drawn(seed, n=8, tags=tags)  # drawn without the rules
    task = prepared(task_of(allowed=allowed, labels=np.array(tags)), inputs, outputs)
    legal = rules(allowed, tags)
    oracle = task.oracle(task.shard(inputs, outputs), "margin")
    assert list(oracle.unfit()) == [i for i, y in enumerate(outputs) if not legal(y)]
    kept = np.array([i for i, y in enumerate(outputs) if legal(y)], dtype=np.int64)
    taken = oracle.take(kept)
    again = task.oracle(task.shard([inputs[i] for i in kept], [outputs[i] for i in kept]), "margin")
    assert not taken.unfit()
    assert list(taken.names.rows) == kept.tolist()
    w = np.random.default_rng(seed).standard_normal(task.dim)
    rows = np.arange(kept.size)
    one, two = (o.separate(o.view(w), rows) for o in (taken, again))
    assert np.array_equal(one.value, two.value)
    assert np.array_equal(one.planes.output.values, two.planes.output.values)


def test_rules_that_allow_nothing_are_told_at_prediction():
    task = prepared(SequenceTask(allowed=[(a, b) for a in "XY" for b in "XY"]), *GOOD)
    assert len(task.decode(np.zeros(task.dim), [["a"]])) == 1
    with pytest.raises(DataError, match="allow no tag sequence of 2 tokens"):
        task.decode(np.zeros(task.dim), [["a"], ["b"]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"losses": "hinge"}, "hamming"),
        ({"loss_scale": 0.0}, "loss_scale"),
        ({"order": 3}, "order=3"),
        ({"allowed": "iobes"}, "allowed='iobes'"),
        ({"allowed": [("X",)]}, "pairs"),
        ({"allowed": [("X", 3)]}, "no pair of tags"),
        ({"min_count": 0}, "min_count"),
        ({"hash_bits": 99}, "hash_bits"),
        ({"unfit": "skip"}, "unfit='skip'"),
        ({"transition_scale": -1.0}, "transition_scale=-1.0"),
        ({"transition_features": "z"}, "no features of 'z'"),
        ({"transition_features": ";"}, "names no features"),
        ({"transition_features": "a", "hash_bits": 3}, "hash_bits"),
        ({"tag_weight": {"X": 0.0}}, "tag_weight"),
        ({"tag_weight": {"Z": 2.0}}, "'Z', which is not a tag of the data"),
        ({"tag_weight": "even"}, "balanced"),
        ({"tag_weight": {"X": 2.0}, "losses": "zero-one"}, "hamming"),
    ],
)
def test_bad_settings_are_refused_by_name(change, message):
    with pytest.raises(ConfigError, match=message):
        prepared(SequenceTask(**change), *GOOD)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("losses", ["hamming", "zero-one"])
def test_two_thousand_tokens_are_searched_exactly(losses, rescaling, order):
    rng = np.random.default_rng(0)
    x = [[f"f{i}"] for i in rng.integers(0, 400, 2000)]
    y = rng.choice(["X", "Y", "Z"], 2000).tolist()
    task = prepared(task_of(losses, order), [x], [y])
    w = np.zeros(task.dim)  # without transitions, every token is on its own
    task.parts(w).emissions[:] = rng.standard_normal((task.n_features, 3)) - 1.5
    for row in range(task.n_features):  # most truths are best by far, so that few are wrong
        task.parts(w).emissions[row, row % 3] += 3.0
    tokens = [name for (name,) in x]
    columns = [task.dictionary.tolist().index(name) for name in tokens]
    scores, own = task.parts(w).emissions[columns], task.tag_places(y)
    true = scores[np.arange(2000), own]
    scores = scores.copy()
    scores[np.arange(2000), own] = -np.inf
    gains = np.sort(scores.max(axis=1) - true)[::-1]  # of the best wrong tag of every token
    totals, wrong = np.cumsum(gains), np.arange(1, 2001)
    delta = task.loss_scale * (wrong if losses == "hamming" else np.ones(2000))
    values = delta * (1 + totals) if rescaling == "slack" else delta + totals
    oracle = task.oracle(task.shard([x], [y]), rescaling)
    answer = oracle.separate(oracle.view(w), np.zeros(1, np.int64))
    assert np.isclose(answer.value[0], max(0.0, values.max()))
    assert len(task.decode(w, x)) == 2000


def test_a_sequence_too_long_for_its_count_search_is_refused_and_margin_takes_it():
    x = [["a"]] * 30_000
    y = ["X", "Y"] * 15_000
    task = prepared(SequenceTask(), [x], [y])
    with pytest.raises(DataError, match=r"example 0: 30000 tokens; .*6\.7 GB"):
        task.oracle(task.shard([x], [y]), "slack")
    assert len(task.separate(np.zeros(task.dim), x, y, "margin")) == 30_000
