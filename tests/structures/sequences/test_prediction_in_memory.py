"""Inputs in memory are predicted without shards: the same bits, tags and errors as with them."""

import pickle
import random

import numpy as np
import pytest

from distsvm import Model, SequenceTagger, train
from distsvm.data.ragged import Ragged
from distsvm.data.shard import Names as ExampleNames
from distsvm.errors import DataError
from distsvm.structures.sequences import predictor, rows, word_columns, words
from distsvm.structures.sequences.names import Names
from distsvm.structures.sequences.rows import pack_sequences, pack_tags
from distsvm.structures.sequences.task import SequenceTask

NAMES = ["a", "b", "a:x", "é=漢", "", "😀\x00", "c:", "w=1", "w=2", "\ud800", "z" * 50]


def inputs_of(seed, kind, n=40):
    """Sentences whose tokens are lists with repeats, or dicts of numbers, texts and zeros."""
    draw = random.Random(seed)
    values = [0, 1, 1.0, 0.5, -2, True, False, "x", "y:z", "", 0.0]

    def token():
        if kind == "lists":
            return draw.choices(NAMES, k=draw.randint(0, 12))
        if kind == "long lists":
            return draw.choices(NAMES, k=draw.choice([3, 127, 128, 300]))
        if kind == "sets":
            return set(draw.choices(NAMES, k=draw.randint(0, 12)))
        given = {name: draw.choice(values) for name in draw.sample(NAMES, draw.randint(0, 6))}
        if kind == "numbers":
            return {name: value for name, value in given.items() if not isinstance(value, str)}
        return given

    return [[token() for _ in range(draw.randint(0, 7))] for _ in range(n)]


KINDS = ["lists", "long lists", "sets", "numbers", "dicts"]


def arrays_of(x):
    return (*x.tokens.arrays(), x.starts, x.names)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_packing_in_bulk_gives_the_bits_of_packing_one_by_one(kind, seed):
    inputs = inputs_of(seed, kind)
    bulk = pack_sequences(inputs)
    one_by_one = rows._packed_one_by_one(inputs, ExampleNames(range(len(inputs))))
    for ours, slow in zip(arrays_of(bulk), arrays_of(one_by_one), strict=True):
        assert ours.dtype == slow.dtype
        assert ours.tolist() == slow.tolist()


def test_a_text_that_makes_another_features_name_is_added_to_it():
    inputs = [[{"a": "x", "a:x": 2.0}, {"a:x": -1.0, "a": "x"}]]
    x = pack_sequences(inputs)
    assert x.names.tolist() == ["a:x"]
    assert x.tokens.values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("token", "found"),
    [
        ([1], "feature name 1 is no str"),
        ([["a"]], r"feature name \['a'\] is no str"),
        ([b"a"], "no str"),
        ({"a": None}, "not a number"),
        ({"a": [1]}, "not a number"),
        ({2: "x"}, "no str"),
        ("ab", "no dict or list"),
        (3, "no dict or list"),
    ],
)
def test_a_bad_token_is_named_by_packing_and_by_prediction(token, found):
    good = ["w=1"]
    inputs = [[good], [good, token]]
    with pytest.raises(DataError, match=f"example 1.*token 1.*{found}"):
        pack_sequences(inputs)
    expected = "some tokens are words" if token == "ab" else f"example 1.*{found}"
    for options in ({}, {"executor": "serial"}):
        with pytest.raises(DataError, match=expected):
            model_of("lists").predict(inputs, **options)


def test_bad_tags_are_named():
    with pytest.raises(DataError, match=r"example 1: the tag 3 is of type int, not str"):
        pack_tags([["A"], ["A", 3]])
    with pytest.raises(DataError, match=r"example 1: 'AB' is no list of tags"):
        pack_tags([["A"], "AB"])
    assert pack_tags([("B",), np.array(["A", "B"])]).codes.values.tolist() == [0, 1, 0]


def model_of(kind, seed=0, **settings):
    inputs = inputs_of(seed, kind)
    inputs[0] = [["w=1"] if kind != "dicts" else {"w=1": 1}]
    task = SequenceTask(**settings)
    shard = task.shard(inputs, [["A", "B", "C"][i % 3 : i % 3 + 1] * len(x) for i, x in
                                enumerate(inputs)])  # fmt: skip
    task = task.prepare(task.scan(shard))
    return Model(task, np.random.default_rng(seed).standard_normal(task.dim))


@pytest.mark.parametrize(
    "settings", [{}, {"order": 2}, {"hash_bits": 3}, {"allowed": [("A", "B")]}]
)
@pytest.mark.parametrize("kind", ["lists", "sets", "numbers", "dicts"])
def test_scores_have_the_bits_that_a_shard_gives(kind, settings):
    model, inputs = model_of(kind, **settings), inputs_of(5, kind) + [[["new"]]] * (kind == "lists")
    here = model.bound_here(inputs)
    if here is None:
        assert kind == "dicts"  # "a:x" may be the feature a with the text x
        return
    shard = model.task.oracle(model.task.shard(inputs), "margin")
    rows = np.arange(shard.n)
    ours, theirs = (o.scores(o.view(model.w), rows) for o in (here, shard))
    assert ours[0].tobytes() == theirs[0].tobytes()
    assert ours[2].tolist() == theirs[2].tolist()
    for k in (1, 3):
        best = [o.n_best(o.view(model.w), rows, k) for o in (here, shard)]
        assert best[0][0].values.tolist() == best[1][0].values.tolist()
        assert best[0][1].values.tobytes() == best[1][1].values.tobytes()
    assert model.predict(inputs) == model.predict(inputs, executor="serial")


@pytest.mark.parametrize("bits", [None, 4])
def test_names_that_came_before_are_known_and_forgotten_again(monkeypatch, bits):
    model = model_of("lists", hash_bits=bits)
    inputs = inputs_of(7, "lists")
    expected = model.predict(inputs, executor="serial")
    monkeypatch.setattr(predictor, "MOST_KNOWN", 3)
    few = Model(model.task, model.w)
    for _ in range(2):
        assert few.predict(inputs) == expected
        assert [few.predict([x])[0] for x in inputs] == expected


def test_impossible_sequences_are_named_alike():
    model = model_of("lists", allowed=[(None, "A"), (None, "B"), (None, "C")])
    for options in ({}, {"executor": "serial"}):
        with pytest.raises(DataError, match="example 1: the constraints allow no tag sequence"):
            model.predict([[], [["w=1"]]], **options)


def test_a_model_sent_elsewhere_takes_no_dictionary_along():
    model = model_of("lists")
    bare = len(pickle.dumps(model))
    inputs = inputs_of(3, "lists")
    expected = model.predict(inputs)
    assert len(pickle.dumps(model)) == bare
    assert pickle.loads(pickle.dumps(model)).predict(inputs) == expected


@pytest.mark.parametrize(
    "templates", ["default", "bias; word; word[-2] & shape[+1] & suffix(1); prefix(1..2)[-1..+1]"]
)
@pytest.mark.parametrize(("hash_bits", "bits_of_file"), [(None, None), (4, None), (4, 4)])
def test_one_sentence_in_words_is_tagged_as_it_is_among_many(
    templates, hash_bits, bits_of_file, tmp_path, monkeypatch
):
    draw = random.Random(0)
    vocabulary = ["the", "Cat", "sat,", "on", "3", "Mats", ".", "<s>", "</s>"]
    sentences = [draw.choices(vocabulary, k=draw.randint(1, 9)) for _ in range(30)]
    tags = [[word[0].upper() if word.isalpha() else "O" for word in x] for x in sentences]
    path = tmp_path / "train.conll"
    path.write_text(
        "\n".join("".join(f"{w}\t{t}\n" for w, t in zip(x, y, strict=True))
                  for x, y in zip(sentences, tags, strict=True))
    )  # fmt: skip
    reading = {"templates": templates, "hash_bits": bits_of_file}
    model = train(
        SequenceTask(hash_bits=hash_bits), path, data_options=reading, max_rounds=3,
        executor="serial",
    ).model  # fmt: skip
    asked = [*sentences, ["new"], ["the", "New", "sat,"]]

    def scores(inputs):
        oracle = model.bound_here(inputs)
        return oracle.scores(model.view, np.arange(oracle.n))[0]

    one_by_one, own = [model.predict([x])[0] for x in asked], [scores([x]) for x in asked]
    monkeypatch.setattr(word_columns, "MOST_KEPT", 3)  # most words are forgotten at once
    assert [model.predict([x])[0] for x in asked] == one_by_one
    monkeypatch.setattr(predictor, "LOOKED_UP_WORDS", 0)
    assert model.predict(asked) == one_by_one
    if bits_of_file is None:  # else the file's numbers are no names, and a shard is made
        assert scores(asked).tobytes() == np.concatenate(own).tobytes()
    monkeypatch.setattr(words, "FEW_WORDS", 0)
    assert [model.predict([x])[0] for x in asked] == one_by_one
    assert model.predict(asked, executor="serial") == one_by_one


def test_ranked_tags_of_words_are_those_of_each_sentence_alone(tmp_path):
    sentences = [["the", "Cat"], ["Cat"], ["a", "Cat", "sat"]] * 3
    path = tmp_path / "train.conll"
    path.write_text("\n".join("".join(f"{w}\t{w[0]}\n" for w in x) for x in sentences))
    tagger = SequenceTagger(max_rounds=3, executor="serial").fit(path)
    assert tagger.predict_n_best(sentences, 1) == [
        ranked for x in sentences for ranked in tagger.predict_n_best([x], 1)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_names_are_encoded_at_once_as_each_alone(seed):
    draw = random.Random(seed)
    texts = [
        "".join(draw.choices("ab é漢😀\ud800\udc00\x00", k=draw.randint(0, 5))) for _ in range(9)
    ]
    names = Names.of(texts)
    assert names.tolist() == texts
    assert names.data.tobytes() == b"".join(t.encode("utf-8", "surrogatepass") for t in texts)


def test_keys_are_those_of_rows_of_bytes_and_every_name_is_found():
    texts = sorted({"".join(random.Random(i).choices("abé", k=i % 7)) for i in range(300)})
    names = Names.of(texts)
    assert names.keys.tolist() == Ragged(names.data, names.starts).keys().tolist()
    asked = [*texts[::-3], "absent", texts[1] + "b" * 9]
    expected = [texts.index(text) if text in texts else -1 for text in asked]
    assert names.find(Names.of(asked)).tolist() == expected
    names.keys[:] = 7  # all names meet in one key: none may be taken for another
    found = names.find(Names.of(texts))
    assert all(place in (-1, i) for i, place in enumerate(found.tolist()))


def test_a_model_of_numbered_features_still_needs_files(tmp_path):
    path = tmp_path / "train.svmhmm"
    path.write_text("A qid:1 1:1 2:1\nB qid:1 2:1\nA qid:2 1:1\n")
    model = train(SequenceTask(), path, max_rounds=3, executor="serial", n_shards=1,
                  data_options={"format": "svmhmm"}).model  # fmt: skip
    assert model.predictor is None
    assert [len(tags) for tags in model.predict(path)] == [2, 1]
    with pytest.raises(DataError, match="the model knows them only by number"):
        model.predict([[["a"]]])
