"""CoNLL-U: words without ranges and empty nodes, and the counts of a real treebank."""

import os
from pathlib import Path

import pytest
from sentence_rows import sentences_of, words_of

from distsvm.data.templates import POS
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.readers.conllu import ConlluData

DATA = Path(os.environ.get("DISTSVM_DATA", Path(__file__).parents[4] / "shared" / "data"))
EWT = DATA / "ud_ewt"


def line(number, form, upos="X", xpos="Y"):
    return f"{number}\t{form}\t{form.lower()}\t{upos}\t{xpos}\t_\t0\troot\t_\t_\n"


TEXT = (
    "# newdoc\n# text = I don't.\n"
    + line(1, "I", "PRON", "PRP")
    + line("2-3", "don't", "_", "_")
    + line(2, "do", "AUX", "VBP")
    + line(3, "n't", "PART", "RB")
    + line("3.1", "know", "VERB", "VB")
    + "\n# text = # 1\n"
    + line("1-2", "#1", "_", "_")
    + line(1, "#", "SYM", "$")
    + line(2, "1", "NUM", "CD")
    + "\n"
)


def load(path, n_shards=1, **options):
    options = {"templates": "word", **options}
    return [spec.load() for spec in ConlluData(path, **options).specs(n_shards)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.conllu"


@pytest.mark.parametrize("n_shards", [1, 2])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_ranges_and_empty_nodes_are_no_words(path, n_shards, end):
    path.write_bytes(TEXT.replace("\n", end).encode())
    shards = load(path, n_shards, tag="xpos")
    assert len(shards) == n_shards
    assert words_of(shards) == [
        [("I", "PRP"), ("do", "VBP"), ("n't", "RB")],
        [("#", "$"), ("1", "CD")],
    ]


def test_any_column_may_be_the_tag_or_a_feature(path):
    path.write_text(TEXT)
    assert [tag for tag, _ in sentences_of(load(path, tag="upos"))[1]] == ["SYM", "NUM"]
    assert [tag for tag, _ in sentences_of(load(path, tag="lemma"))[1]] == ["#", "1"]
    features = sentences_of(load(path, tag="upos", templates="column(2)[+1]"))
    assert features[0][0][1] == {"column2[+1]=do": 1}
    for data in (ConlluData(path, tag=None), ConlluData(path).unlabelled()):
        assert data.specs(1)[0].load().y is None


@pytest.mark.parametrize(
    ("text", "further", "message"),
    [
        ("1\ta\ta\n", 0, "found 3 columns, expected 10"),
        ("1 a a X Y _ 0 root _ _\n", 0, "found 1 column, expected 10"),
        (line("x", "a"), 0, "found 'x', expected the number of a word"),
        (line("", "a"), 0, "found '', expected the number of a word"),
        (line(1, ""), 0, "column 1 is empty"),
        (line("0.1", "a") + "\n", 1, "the sentence that ends here has no words"),
        (line("0.1", "a"), 0, "the sentence that ends here has no words"),
    ],
)
@pytest.mark.parametrize("n_shards", [1, 2])
def test_malformed_lines_are_refused_with_file_and_line(path, text, further, message, n_shards):
    path.write_text(TEXT + text)
    number = TEXT.count("\n") + 1 + further
    with pytest.raises(DataError, match=rf"a\.conllu, line {number}: {message}"):
        load(path, n_shards)


def test_a_first_sentence_without_words_is_refused_too(path):
    path.write_text(line("0.1", "a") + "\n" + TEXT)
    with pytest.raises(DataError, match=r"a\.conllu, line 2: .* has no words"):
        load(path, 2)


def test_a_column_without_tags_is_refused(path):
    path.write_text(line(1, "a", "X", "_"))
    with pytest.raises(DataError, match="column 4 has no tags, only _"):
        load(path, tag="xpos")
    assert words_of(load(path, tag="upos")) == [[("a", "X")]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag": "pos"}, "tag='pos': expected None or one of id, form"),
        ({"tag": "form"}, "tag=1: the column is also read as a feature"),
        ({"tag": "upos", "templates": "column(3)"}, "tag=3: the column is also read"),
        ({"templates": "column(10)"}, r"column\(10\), expected 0 to 9"),
    ],
)
def test_options_out_of_range_are_refused_at_once(path, options, message):
    path.write_text(TEXT)
    with pytest.raises(ConfigError, match=message):
        ConlluData(path, **options)


@pytest.mark.skipif(not EWT.is_dir(), reason=f"UD English EWT is not at {EWT}")
@pytest.mark.parametrize(
    ("part", "n_sentences", "n_words"),
    [("train", 12544, 204577), ("dev", 2001, None), ("test", 2077, None)],
)
def test_counts_of_a_real_treebank(part, n_sentences, n_words):
    (shard,) = load(EWT / f"en_ewt-ud-{part}.conllu.gz", tag="xpos", templates=POS)
    assert shard.n == n_sentences
    if n_words:
        assert shard.x.tokens.n_rows == n_words
        assert len(shard.y.names) == 49
