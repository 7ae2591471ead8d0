"""CoNLL columns: what is a token, a sentence, a tag; and what is refused."""

import gzip

import numpy as np
import pytest
from sentence_rows import sentences_of, words_of

from distsvm.data.synthetic import make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.readers.conll import ConllData
from distsvm.structures.sequences.writers import write_conll


def load(path, n_shards=1, **options):
    options = {"templates": "word", **options}
    return [spec.load() for spec in ConllData(path, **options).specs(n_shards)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.conll"


def test_columns_blank_lines_and_documents_are_as_the_format_has_them(path):
    path.write_text(
        "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects\tVBZ  B-VP O\r\n \r\n\n# # I-NP O\n"
        "-DOCSTART- -X- O O\nPeter NNP B-NP B-PER"
    )
    (shard,) = load(path)
    assert words_of([shard]) == [
        [("EU", "B-ORG"), ("rejects", "O")],
        [("#", "O")],
        [("Peter", "B-PER")],
    ]
    assert shard.weight is None
    assert shard.first is None
    assert shard.source == f"{path}, bytes 0 to {path.stat().st_size}"
    assert shard.x.tokens.columns.dtype == np.int32
    assert shard.y.codes.values.dtype == np.int32


def test_word_and_tag_are_where_they_are_said_to_be(path):
    path.write_text("1 the DT x\n2 cat NN y\n")
    assert words_of(load(path, word=1, tag=2)) == [[("the", "DT"), ("cat", "NN")]]
    assert words_of(load(path, word=-3, tag=-2)) == [[("the", "DT"), ("cat", "NN")]]
    (shard,) = load(path, word=1, tag=None)
    assert shard.y is None
    found = sentences_of(load(path, word=1, tag=2, templates="word; column(3)[+1]; column(0)"))
    assert found[0][0][1] == {"word=the": 1, "column3[+1]=y": 1, "column0=1": 1}


def test_unlabelled_lines_may_have_tags_and_need_none(path):
    for text in ("the\ncat\n", "the DT\ncat NN\n"):
        path.write_text(text)
        for n_columns in (None, 2):
            data = ConllData(path, templates="word", n_columns=n_columns).unlabelled()
            (shard,) = [spec.load() for spec in data.specs(1)]
            assert shard.y is None
            assert words_of([shard]) == [[("the", None), ("cat", None)]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("El presidente habla\n", {"n_columns": 2}, "line 1: found 3 columns, expected 2"),
        ("the DT x\n\ncat NN\n", {}, "line 3: found 2 columns, expected 3"),
        ("the\n", {"n_columns": 3}, "line 1: found 1 column, expected 3"),
        ("the DT\n", {"n_columns": 3, "tag": 1}, "line 1: found 2 columns, expected 3"),
    ],
)
def test_lines_with_other_columns_than_training_are_refused(path, text, options, message):
    path.write_text(text)
    data = ConllData(path, templates="word", **options).unlabelled()
    with pytest.raises(DataError, match=message):
        [spec.load() for spec in data.specs(1)]
    with pytest.raises(ConfigError, match="n_columns=0"):
        ConllData(path, n_columns=0)


def test_tabs_keep_blanks_and_foreign_spaces_within_a_word(path):
    path.write_text("New York\tLOC\n10\u00a0000\tNUM\n\t\t\nx\ty\n", encoding="utf-8")
    expected = [[("New York", "LOC"), ("10\u00a0000", "NUM")], [("x", "y")]]
    assert words_of(load(path, separator="\t")) == expected
    path.write_text("10\u00a0000 NUM\n\u3000 NUM\n", encoding="utf-8")
    assert words_of(load(path)) == [[("10\u00a0000", "NUM"), ("\u3000", "NUM")]]


def test_comments_are_skipped_where_they_are_asked_for(path):
    path.write_text("# a sentence\nthe DT\n# within\ncat NN\n\n# nothing\n\n")
    assert words_of(load(path, comment="#")) == [[("the", "DT"), ("cat", "NN")]]
    with pytest.raises(DataError, match="line 2: found 2 columns, expected 3"):
        load(path)


def test_a_byte_order_mark_is_no_part_of_the_first_word(path):
    path.write_bytes(b"\xef\xbb\xbfthe DT\ncat NN\n\nx Y\n")
    assert words_of(load(path, 2)) == [[("the", "DT"), ("cat", "NN")], [("x", "Y")]]


def test_features_equal_those_of_the_templates(path):
    sentences = make_tagged_sentences(40, seed=3)
    write_conll(path, sentences)
    templates = Templates.parse("bias; word[-1] & suffix(2); shape[+1]; prefix(1..3)[-2]")
    for hash_bits in (None, 12):
        found = sentences_of(load(path, 3, templates=templates, hash_bits=hash_bits))
        assert len(found) == 40
        assert [[tag for tag, _ in s] for s in found] == [tags for _, tags in sentences]
    plain = sentences_of(load(path, 3, templates=templates))
    for (words, _), sentence in zip(sentences, plain, strict=True):
        assert [list(row) for _, row in sentence] == templates.features(words)


def test_hashed_shards_have_no_names_and_agree_about_columns(path):
    write_conll(path, make_tagged_sentences(40))
    whole = sentences_of(load(path, 1, templates="pos", hash_bits=18))
    shards = load(path, 4, templates="pos", hash_bits=18)
    assert all(s.x.names is None and s.x.tokens.n_columns == 2**18 for s in shards)
    assert sentences_of(shards) == whole


BAD_LINES = {
    b"word": "found 1 column, expected more, as the tag in column -1 would be a feature",
    b"caf\xe9 NN": "found the byte 0xe9, expected UTF-8",
}


@pytest.mark.parametrize("bad", BAD_LINES)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n_shards", [1, 3])
def test_malformed_line_is_refused_with_file_and_line(tmp_path, bad, packed, n_shards):
    text = b"the DT\ncat NN\n\n" * 4 + b"a DT\n" + bad + b"\nb DT\n\nc DT\n"
    path = tmp_path / ("bad.conll.gz" if packed else "bad.conll")
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(DataError) as caught:
        load(path, n_shards)
    assert str(caught.value).startswith(f"{path}, line 14: {BAD_LINES[bad]}")


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        ("a b", {"tag": 3}, "found 2 columns, expected at least 4, as the tag is in column 3"),
        ("a b", {"tag": -3}, "found 2 columns, expected at least 3, as the tag is in column -3"),
        ("a b", {"word": 2, "tag": 0}, "expected at least 3, as the word is in column 2"),
        ("a b", {"templates": "column(4)"}, "at least 5, as column 4 of the templates is in"),
        ("a b", {"templates": "column(1)"}, "tag in column -1 would be a feature of itself"),
        ("\tNN", {"separator": "\t"}, "column 0 is empty"),
        ("a\t", {"separator": "\t"}, "column -1 is empty"),
    ],
)
def test_columns_that_are_not_there_are_named(path, line, options, message):
    path.write_text(f"\n\n{line}\n")
    with pytest.raises(DataError, match=rf"a\.conll, line 3: .*{message}"):
        load(path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag": 0}, "tag=0: the column is also read"),
        ({"tag": 2, "templates": "column(2)"}, "tag=2: the column is also read"),
        ({"hash_bits": 31}, "hash_bits=31: expected a whole number from 1 to 30"),
        ({"hash_bits": 0}, "hash_bits=0: expected"),
        ({"separator": ""}, "separator=''"),
        ({"comment": ""}, "comment=''"),
        ({"templates": "wort"}, "template 'wort', position 1"),
    ],
)
def test_options_out_of_range_are_refused_at_once(path, options, message):
    path.write_text("a b\n")
    with pytest.raises(ConfigError, match=message):
        ConllData(path, **options)


def test_what_cannot_be_read_back_is_not_written(path):
    for sentence, message in [
        ((["a"], []), "sentence 1: 0 tags for 1 words"),
        (([], []), "sentence 1 has no words"),
        ((["a b"], ["X"]), "'a b' is empty or has blanks"),
        ((["a"], [""]), "'' is empty"),
    ]:
        with pytest.raises(DataError, match=message):
            write_conll(path, [(["x"], ["y"]), sentence])
    write_conll(path, [(["x", "y"], None)])
    assert path.read_text() == "x\ny\n\n"
