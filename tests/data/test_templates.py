"""The template language: what it means, by a slow reading of its text, and what it refuses."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.data import templates
from distsvm.data.templates import DEFAULT, POS, Templates, as_templates, hashed_columns, shape
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.readers.token_rows import FIRST_CODE, Field, token_rows

TERMS = [
    "word", "word[-1]", "word[+2]", "lower[+1]", "shape", "shape(1)[-1]", "prefix(2)",
    "suffix(3)[-1]", "column(1)", "column(2)[+1]", "length[-1]", "length(2)",
]  # fmt: skip


def slow_value(term, sentence, t):
    """One term by its text, read anew for every token."""
    offset = 0
    if "[" in term:
        term, _, rest = term.partition("[")
        offset = int(rest.rstrip("]"))
    name, _, argument = term.rstrip(")").partition("(")
    inside = 0 <= t + offset < len(sentence)
    if name in ("prefix", "suffix"):
        if not inside:
            return None
        n, word = int(argument), sentence[t + offset][0]
        affix = word[:n] if name == "prefix" else word[::-1][:n][::-1]
        return affix if len(affix) == n else None
    if not inside:
        return "<s>" if t + offset < 0 else "</s>"
    word = sentence[t + offset][0]
    if name == "column":
        return sentence[t + offset][int(argument)]
    if name == "lower":
        return word.lower()
    if name == "length":
        return str(len(word) if not argument else min(len(word), int(argument)))
    return shape(word, int(argument or 4)) if name == "shape" else word


def slow_features(texts, sentence):
    rows = []
    for t in range(len(sentence)):
        names = []
        for text in texts:
            terms = text.split(" & ")
            values = [slow_value(term, sentence, t) for term in terms]
            label = "&".join(terms).replace("(", "").replace(")", "")
            if None in values:
                continue
            if len(values) > 1:
                values = [v.replace("\\", "\\\\").replace("&", "\\&") for v in values]
            names.append("bias" if text == "bias" else label + "=" + "&".join(values))
        rows.append(names)
    return rows


def batch(templates, sentences, hash_bits=None):
    """The rows of the fast way as dicts of columns to values, and the names."""
    tokens = [token for sentence in sentences for token in sentence]
    fields = {}
    for key in (None, *templates.columns):
        known = {}
        codes = [known.setdefault(token[key or 0], len(known) + FIRST_CODE) for token in tokens]
        fields[key] = Field(list(known), np.array(codes, dtype=np.int32))
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    rows, names = token_rows(templates, fields, starts, hash_bits)
    values, columns, ends = rows.arrays()
    assert all((np.diff(columns[a:b]) > 0).all() for a, b in pairwise(ends))
    pairs = [
        dict(zip(columns[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in pairwise(ends)
    ]
    return rows, pairs, names


words = st.text("aAb1.&\\=<s>/é", min_size=1, max_size=6) | st.sampled_from(["<s>", "</s>", "ing"])
sentences = st.lists(st.tuples(words, words, words), min_size=1, max_size=6)
sets = st.lists(
    st.just("bias") | st.lists(st.sampled_from(TERMS), min_size=1, max_size=3).map(" & ".join),
    min_size=1,
    max_size=8,
    unique=True,
)


@settings(max_examples=200)
@given(sets, st.lists(sentences, min_size=1, max_size=4))
def test_fast_and_plain_features_equal_the_slow_reading(texts, given_sentences):
    templates = Templates.parse("\n".join(texts))
    expected = [row for s in given_sentences for row in slow_features(texts, s)]
    assert [row for s in given_sentences for row in templates.features(s)] == expected
    rows, pairs, names = batch(templates, given_sentences)
    assert [[names[c] for c in row] for row in pairs] == expected
    assert all(set(row.values()) <= {1} for row in pairs)
    assert sorted(names) == sorted({name for row in expected for name in row})
    assert rows.n_columns == names.size


@given(sets, st.lists(sentences, min_size=1, max_size=3), st.integers(1, 30))
def test_hashed_rows_count_the_features_that_meet(texts, given_sentences, bits):
    templates = Templates.parse("; ".join(texts))
    rows, pairs, names = batch(templates, given_sentences, bits)
    assert names is None
    assert rows.n_columns == 2**bits
    for row, features in zip(
        pairs, [row for s in given_sentences for row in templates.features(s)], strict=True
    ):
        columns, counts = np.unique(hashed_columns(features, bits), return_counts=True)
        assert row == dict(zip(columns.tolist(), counts.tolist(), strict=True))


HASHED = [275004, 71240, 752617, 641115]


def test_hashes_are_the_same_for_ever():
    names = ["bias", "word[-1]=<s>", "suffix3=ing", "word=naïve"]
    assert hashed_columns(names, 20).tolist() == HASHED
    assert (hashed_columns(names, 10) == np.array(HASHED) >> 10).all()
    assert np.unique(hashed_columns([f"word={i}" for i in range(2000)], 30)).size == 2000


def test_names_at_the_edges_and_of_combinations_are_as_documented():
    templates = Templates.parse(
        "word[-1] & word  # two words\nsuffix(3)[-1]; shape(1)\nword[+2]; column(1)[-1];bias"
    )
    assert templates.features([("Walking", "VBG"), ("R&D", "NN")]) == [
        ["word[-1]&word=<s>&Walking", "shape1=Xx", "word[+2]=</s>", "column1[-1]=<s>", "bias"],
        [
            "word[-1]&word=Walking&R\\&D",
            "suffix3[-1]=ing",
            "shape1=X&X",
            "word[+2]=</s>",
            "column1[-1]=VBG",
            "bias",
        ],
    ]


def test_plain_words_are_tokens_too():
    assert Templates.parse("word; word[+1]").features(["a", "b"]) == [
        ["word=a", "word[+1]=b"],
        ["word=b", "word[+1]=</s>"],
    ]
    with pytest.raises(DataError, match="token 0 has 1 columns, expected 3"):
        Templates.parse("column(2)").features(["a"])


@pytest.mark.parametrize(
    ("word", "short", "longer"),
    [("Wi-Fi6", "Xx-Xxd", "Xx-Xxd"), ("NASA2024s", "Xdx", "XXXXddddx"), ("...", ".", "...")],
)
def test_shapes_keep_the_first_of_equal_signs(word, short, longer):
    assert shape(word, 1) == short
    assert shape(word) == longer


def test_ranges_stand_for_all_choices_and_doubles_count_once():
    ranged = Templates.parse("prefix(1..2)[-1..+1]; suffix(2) & word[0..1]; prefix(1)")
    single = Templates.parse(
        "prefix(1)[-1]; prefix(1); prefix(1)[1]; prefix(2)[-1]; prefix(2)[0]; prefix(2)[+1];"
        "suffix(2)&word; suffix ( 2 ) & word [ + 1 ]".replace("+ 1", "+1")
    )
    assert ranged == single
    assert len(ranged.combinations) == 8


def test_text_of_templates_gives_them_back_and_they_travel():
    for one in (DEFAULT, POS, Templates.parse("bias; column(12)[-3] & shape(1) & lower")):
        assert Templates.parse(str(one)) == one
        assert pickle.loads(pickle.dumps(one)) == one
        assert as_templates(str(one)) == as_templates(one) == one
    assert as_templates("pos") is POS
    assert len(POS.combinations) == 40


@pytest.mark.parametrize(
    ("text", "template", "position", "expected"),
    [
        ("word\nsufix(1..3)", "sufix(1..3)", 1, "one of bias, word"),
        ("word & ", "word &", 7, "one of bias"),
        ("word word", "word word", 6, "& or the end"),
        ("word(2)", "word(2)", 5, "& or the end"),
        ("prefix", "prefix", 7, "( and a number or a range"),
        ("prefix()", "prefix()", 8, "a number from 1 to 99"),
        ("prefix(0)", "prefix(0)", 8, "a number from 1 to 99"),
        ("prefix(1..x)", "prefix(1..x)", 11, "a number from 1"),
        ("suffix(4..2)", "suffix(4..2)", 9, "a range that ends at 4 or above"),
        ("suffix(2", "suffix(2", 9, ")"),
        ("column(-1)", "column(-1)", 8, "a number from 0"),
        ("word[1", "word[1", 7, "]"),
        ("word[x]", "word[x]", 6, "a distance from -99 to 99"),
        ("word[100]", "word[100]", 6, "a distance"),
        ("bias[1]", "bias[1]", 5, "& or the end"),
        ("word & bias", "word & bias", 8, "bias alone"),
        ("lower; Word", "Word", 1, "one of bias"),
    ],
)
def test_errors_name_the_template_and_the_position(text, template, position, expected):
    with pytest.raises(ConfigError) as caught:
        Templates.parse(text)
    message = str(caught.value)
    assert message.startswith(f"template {template!r}, position {position}: found ")
    assert f"expected {expected}" in message


def ending(word):
    return word[-1] if word[-1:] != "x" else None


@pytest.fixture
def own_function():
    templates.register_word_function("ending", ending)
    yield
    del templates._registered["ending"]


def test_functions_of_users_are_attributes(own_function):
    found = pickle.loads(pickle.dumps(Templates.parse("ending[-1..0]; ending & word")))
    assert str(found) == "ending[-1]; ending; ending & word"
    sentence = ["ab", "cx", "d"]
    assert found.features(sentence) == [
        ["ending[-1]=<s>", "ending=b", "ending&word=b&ab"],
        ["ending[-1]=b"],
        ["ending=d", "ending&word=d&d"],
    ]
    fields = {None: Field(sentence, np.arange(3, dtype=np.int32) + FIRST_CODE)}
    rows, names = token_rows(found, fields, np.array([0, 3]))
    _, columns, starts = rows.arrays()
    by_token = [sorted(names[columns[a:b]]) for a, b in pairwise(starts)]
    assert by_token == [sorted(row) for row in found.features(sentence)]


def test_bad_functions_of_users_are_refused(own_function):
    for name, function, expected in (
        ("word", ending, "built in"),
        ("Ending", ending, "lower-case"),
        ("other", 3, "a function of a word"),
    ):
        with pytest.raises(ConfigError, match=expected):
            templates.register_word_function(name, function)
    with pytest.raises(DataError, match="the word function 'ending' of 3 raised TypeError"):
        Templates.parse("ending").combinations[0][0].value(3)
    term = templates.Term("ending", function=len)
    with pytest.raises(DataError, match="'ending' of 'ab' returned 2, expected text or None"):
        term.value("ab")
    with pytest.raises(ConfigError, match=r"shape, .*ending, or a word function that is"):
        Templates.parse("missing")


def test_no_templates_are_refused():
    with pytest.raises(ConfigError, match="the text has none"):
        Templates.parse("# nothing\n;;")
    with pytest.raises(ConfigError, match="expected text, 'default' or 'pos'"):
        as_templates(3)
