"""Plain sentences: how they are split, and how a model takes them."""

import pickle

import pytest

from distsvm import SequenceTagger, TreeParser, load_model, train
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.data.words import LineSpec, sentences_of, tokenise
from distsvm.errors import ConfigError, DataError
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.sequences.writers import write_conll
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.workers.shard_worker import ShardWorker

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
    assert list(sentences_of([b"Sr. L\xc3\xb3pez ,\n", b"\n"], "x", tokens=True)) == [
        ["Sr.", "López", ","],
        [],
    ]
    with pytest.raises(DataError, match="x, line 2: found the byte 0xff, expected UTF-8"):
        list(sentences_of([b"a\n", b"b \xff\n"], "x"))


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
    for data in ((WORDS, tags), list(zip(WORDS, tags, strict=True))):
        assert model.evaluate(data).loss == same.loss
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
    with pytest.raises(DataError, match=r"new.txt, line 2: a sentence has no words"):
        parser.model_.predict(str(path))
    tags_given = TreeParser(**QUICK).fit(trees)
    with pytest.raises(ConfigError, match="the grammar is over tags"):
        tags_given.model_.predict(str(path))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("tagger") / "a.conll")
    write_conll(path, SENTENCES)
    return train(SequenceTask(), path, **QUICK).model


def test_lines_of_plain_text_are_cut_into_pieces_of_which_no_line_is_lost(tagger, tmp_path):
    path = tmp_path / "new.txt"
    lines = [*(" ".join(words) for words in WORDS), "", "# a b", "last"]
    path.write_text("\ufeff" + "\n".join(lines))
    data = tagger.inputs(str(path), tokens=True)
    for n in (1, 3, 20):
        pieces = data.specs(n)
        assert len(pieces) == n
        assert [words for piece in pieces for words in piece.words()] == list(map(str.split, lines))
    assert pieces[-1].locate(0).startswith(f"{path}, line ")
    found = [
        tags for part in tagger.over_pieces(ShardWorker.predict, data.specs(5)) for tags in part
    ]
    assert found == tagger.predict([line.split() for line in lines])


def test_files_of_plain_text_are_read_by_the_piece_and_not_by_the_driver(
    tagger, tmp_path, monkeypatch
):
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 200)
    path = tmp_path / "new.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in WORDS))
    read = []
    words = LineSpec.words
    monkeypatch.setattr(LineSpec, "words", lambda spec: read.append(spec) or words(spec))
    parts = tagger.predictions(str(path), tokens=True, executor="serial")
    pieces = tagger.pieces(tagger.inputs(str(path), tokens=True))
    assert (len(read), len(pieces) > 5) == (0, True)
    for done, _ in enumerate(parts, 1):
        assert len(read) == done
    assert done == len(pieces)
    assert len(pickle.dumps(pieces[0])) < 2000  # neither text nor task


def test_sentences_that_come_one_by_one_are_predicted_while_they_come(tagger, monkeypatch):
    monkeypatch.setattr("distsvm.model.PIECE_SENTENCES", 4)
    asked = []
    coming = (asked.append(words) or words for words in WORDS)
    pieces = tagger.sentence_pieces(coming)
    found = []
    for part in tagger.over_pieces(ShardWorker.predict, pieces, executor="serial"):
        found += part
        assert len(asked) == len(found)
    assert found == tagger.predict(WORDS)
    with pytest.raises(DataError, match="no examples"):
        list(tagger.sentence_pieces([]))
