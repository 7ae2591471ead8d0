"""Plain sentences: how they are split, and how a model takes them."""

import pytest

from distsvm import SequenceTagger, TreeParser, load_model, train
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.data.synthetic_trees import make_treebank
from distsvm.data.templates import Templates
from distsvm.data.words import sentences_of, tokenise
from distsvm.data.writers import write_conll
from distsvm.errors import ConfigError, DataError
from distsvm.tasks.classes import MulticlassTask
from distsvm.tasks.sequence import SequenceTask

SENTENCES = make_tagged_sentences(40, seed=1)
WORDS = [words for words, _ in SENTENCES]
QUICK = {"executor": "serial", "max_rounds": 3, "C": 1.0}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("¿Qué dice el Sr. López?", ["¿", "Qué", "dice", "el", "Sr", ".", "López", "?"]),
        ('"Wi-Fi\'s 5%..."', ['"', "Wi-Fi's", "5", "%", "...", '"']),
        ("  a\tb\u00a0c \r\n", ["a", "b", "c"]),
        ("--", ["--"]),
        ("(x), [y]", ["(", "x", ")", ",", "[", "y", "]"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("", []),
    ],
)
def test_punctuation_at_the_ends_of_a_word_is_a_word(line, words):
    assert tokenise(line) == words


def test_words_that_are_split_already_stay_so():
    assert sentences_of([b"Sr. L\xc3\xb3pez ,\n", b"\n"], "x", tokens=True) == [
        ["Sr.", "López", ","],
        [],
    ]
    with pytest.raises(DataError, match="x, line 2: found the byte 0xff, expected UTF-8"):
        sentences_of([b"a\n", b"b \xff\n"], "x")


@pytest.mark.parametrize("options", [{}, {"hash_bits": 12}, {"templates": "word; suffix(2)[-1]"}])
def test_a_model_applies_its_templates_to_words(options, tmp_path):
    path = str(tmp_path / "a.conll")
    write_conll(path, SENTENCES)
    result = train(SequenceTask(), path, data_options=options, **QUICK)
    result.model.save(tmp_path / "m")
    model = load_model(tmp_path / "m")
    expected = model.predict(path, executor="serial")
    assert model.predict(WORDS, executor="serial") == expected
    tags = [tags for _, tags in SENTENCES]
    score, same = model.evaluate(WORDS, tags), model.evaluate(path)
    assert (score.loss, score.n_correct) == (same.loss, same.n_correct)
    tagger = SequenceTagger(**QUICK, data_options=options).fit(path)
    assert tagger.predict(WORDS) == expected
    assert tagger.score(WORDS, tags) == tagger.score(path)


def test_words_are_refused_where_there_are_no_templates_for_them(tmp_path):
    features = Templates.parse("word").features
    inputs, tags = [features(words) for words in WORDS], [tags for _, tags in SENTENCES]
    model = train(SequenceTask(), inputs, tags, **QUICK).model
    with pytest.raises(DataError, match="the model has no templates to make features of words"):
        model.predict(WORDS)
    with pytest.raises(DataError, match="example 1: some tokens are words, some are features"):
        model.predict([WORDS[0], [["word=a"], "b"]])
    path = tmp_path / "a.conll"
    path.write_text("the x DT\ncat y NN\n")
    model = train(SequenceTask(), str(path), data_options={"templates": "column(1)"}, **QUICK).model
    with pytest.raises(DataError, match="templates read column 1, which plain words do not have"):
        model.predict([["the", "cat"]])
    with pytest.raises(ConfigError, match="MulticlassTask does not take plain sentences"):
        MulticlassTask().of_words(["a"])


def test_a_parser_over_words_parses_plain_sentences(tmp_path):
    trees = make_treebank(30, max_length=8)
    parser = TreeParser(words=True, **QUICK).fit(trees)
    words = [[word for word, _ in tree.sentence()] for tree in trees[:3]]
    path = tmp_path / "new.txt"
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in words))
    found = parser.model_.predict(str(path), tokens=True, executor="serial")
    assert found == parser.predict(words)
    path.write_text("(dogs) sleep")
    (tree,) = parser.model_.predict(str(path), executor="serial")
    assert [word for word, _ in tree.sentence()] == ["-LRB-", "dogs", "-RRB-", "sleep"]
    path.write_text("dogs\n\n")
    with pytest.raises(DataError, match="example 1: a sentence has no words"):
        parser.model_.predict(str(path))
    tags_given = TreeParser(**QUICK).fit(trees)
    with pytest.raises(ConfigError, match="the grammar is over tags"):
        tags_given.model_.predict(str(path))
