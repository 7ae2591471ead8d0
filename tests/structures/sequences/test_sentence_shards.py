"""Cutting files of sentences: any number of shards gives the same sentences, in every format."""

import gzip
import logging
import pickle
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentence_rows import sentences_of

from distsvm.data import open_data
from distsvm.data.opening import open_inputs
from distsvm.data.readers import lines
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.readers.conll import ConllData
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.readers.svmhmm import SvmHmmData
from distsvm.structures.sequences.writers import write_conll

READERS = {"conll": ConllData, "conllu": ConlluData, "svmhmm": SvmHmmData}


def conll(sentence, end, i):
    return "".join(f"{word} X T{len(word)}{end}" for word in sentence) + end


def conllu(sentence, end, i):
    rest = "\t_" * 5 + end
    head = f"# text = {i}{end}" + (f"1-2\tx\t_\t_\t_{rest}" if i % 2 else "")
    tail = f"9.1\tx\t_\t_\t_{rest}" if i % 3 == 0 else ""
    rows = (f"{t}\t{word}\t_\tT{len(word)}\tX{rest}" for t, word in enumerate(sentence, 1))
    return head + "".join(rows) + tail + end


def svmhmm(sentence, end, i):
    rows = (
        f"T{len(word)} qid:{i % 2} {t}:{len(word)} # {word}{end}" for t, word in enumerate(sentence)
    )
    return "".join(rows)


WRITERS = {"conll": conll, "conllu": conllu, "svmhmm": svmhmm}
OPTIONS = {"conll": {"templates": "word; word[-1]"}, "conllu": {"templates": "word"}, "svmhmm": {}}
BETWEEN = {
    "conll": ["\n", " \n\n", "-DOCSTART- -X- O\n\n"],
    "conllu": ["\n", "\n\n", "# newpar\n"],
    "svmhmm": ["\n", "# a comment 1:1\n"],
}


def data_of(kind, paths):
    return READERS[kind](paths, **OPTIONS[kind])


def load(kind, paths, n_shards):
    return [spec.load() for spec in data_of(kind, paths).specs(n_shards)]


sentence = st.lists(st.text("ab€é", min_size=1, max_size=9), min_size=1, max_size=5)
files = st.lists(st.lists(sentence, min_size=1, max_size=8), min_size=1, max_size=3)


@pytest.mark.parametrize("kind", READERS)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data(), files, st.integers(1, 25), st.integers(1, 80), st.sampled_from(["\n", "\r\n"]))
def test_any_number_of_shards_gives_the_same_sentences(
    tmp_path, kind, data, given_files, n_shards, block, end
):
    paths = []
    for i, sentences in enumerate(given_files):
        between = data.draw(st.sampled_from(["", *BETWEEN[kind]]))
        text = between.join(WRITERS[kind](s, end, j) for j, s in enumerate(sentences, 1))
        paths.append(tmp_path / f"{i}.{kind}")
        paths[-1].write_bytes(data.draw(st.sampled_from([text, text.rstrip("\r\n")])).encode())
    whole = sentences_of(load(kind, paths, 1))
    expected = [[f"T{len(word)}" for word in s] for file in given_files for s in file]
    if kind == "conllu":
        expected = [["X"] * len(tags) for tags in expected]
    assert [[tag for tag, _ in s] for s in whole] == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        shards = load(kind, paths, n_shards)
    assert sentences_of(shards) == whole
    assert all(shard.n for shard in shards)
    assert len(shards) == min(n_shards, len(expected))


def text_of(kind, n):
    sentences = make_tagged_sentences(n, seed=n)
    return "".join(WRITERS[kind](words, "\n", i) for i, (words, _) in enumerate(sentences)).encode()


@pytest.mark.parametrize("kind", READERS)
def test_shards_are_balanced_by_bytes_and_files_may_be_packed(tmp_path, kind):
    for name, n in (("a", 300), ("b", 5), ("c", 120)):
        (tmp_path / f"{name}.{kind}").write_bytes(text_of(kind, n))
    specs = data_of(kind, tmp_path).specs(8)
    sizes = [sum(part.n_bytes for part in spec.parts) for spec in specs]
    assert max(sizes) < 1.3 * np.mean(sizes)
    plain = sentences_of([spec.load() for spec in specs])
    assert len(plain) == 425
    for name in "ac":
        path = tmp_path / f"{name}.{kind}"
        (tmp_path / f"{name}.{kind}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    shards = load(kind, tmp_path, 4)
    assert sentences_of(shards) == plain
    assert shards[0].source == str(tmp_path / f"a.{kind}.gz")


@pytest.mark.parametrize("kind", READERS)
def test_small_files_share_a_shard_and_its_source_names_them(tmp_path, kind):
    for i in range(6):
        (tmp_path / f"{i}.{kind}").write_bytes(text_of(kind, 3))
    first, second = load(kind, tmp_path, 2)
    assert (first.n, second.n) == (9, 9)
    assert first.source.startswith(str(tmp_path / f"0.{kind}"))
    assert first.source.endswith("(3 files)")


@pytest.mark.parametrize("kind", READERS)
def test_too_many_shards_are_reduced_with_a_warning(tmp_path, kind, caplog):
    (tmp_path / f"a.{kind}").write_bytes(text_of(kind, 3))
    with caplog.at_level(logging.WARNING):
        assert len(data_of(kind, tmp_path).specs(7)) == 3
    assert "n_shards=7: the data can be cut into 3 at most" in caplog.text
    with pytest.raises(ConfigError, match="n_shards=0"):
        data_of(kind, tmp_path).specs(0)


@pytest.mark.parametrize("kind", READERS)
def test_default_number_of_shards_follows_the_bytes(tmp_path, kind):
    text = text_of(kind, 100)
    (tmp_path / f"a.{kind}").write_bytes(text * (200_000 // len(text)))
    data = data_of(kind, tmp_path)
    assert data.n_bytes == (tmp_path / f"a.{kind}").stat().st_size
    assert len(data.specs()) == data.n_bytes // 2**16


@pytest.mark.parametrize("kind", READERS)
def test_specs_are_small_and_travel(tmp_path, kind):
    (tmp_path / f"a.{kind}").write_bytes(text_of(kind, 50))
    for spec in data_of(kind, tmp_path).specs(4):
        sent = pickle.dumps(spec)
        assert len(sent) < 1000
        assert sentences_of([pickle.loads(sent).load()]) == sentences_of([spec.load()])


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text", [b"", b"\n\n \n", b"\xef\xbb\xbf\n"])
def test_file_without_sentences_is_refused_by_name(tmp_path, kind, packed, text):
    (tmp_path / f"full.{kind}").write_bytes(text_of(kind, 2))
    name = f"empty.{kind}" + ".gz" * packed
    (tmp_path / name).write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(DataError, match=rf"{re.escape(name)}: the file has no sentences"):
        load(kind, tmp_path, 2)


@pytest.mark.parametrize("kind", READERS)
def test_file_that_shrank_before_loading_is_named(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(text_of(kind, 9))
    spec = data_of(kind, path).specs(1)[0]
    path.write_bytes(text_of(kind, 9)[:-9])
    with pytest.raises(DataError, match=rf"a\.{kind}: the file became shorter"):
        spec.load()


@pytest.mark.parametrize("kind", READERS)
def test_names_or_the_format_tell_what_files_are(tmp_path, kind):
    (tmp_path / f"a.{kind}").write_bytes(text_of(kind, 3))
    (tmp_path / f"b.{kind}.gz").write_bytes(gzip.compress(text_of(kind, 3)))
    data = open_data(tmp_path, **OPTIONS[kind])
    assert isinstance(data, READERS[kind])
    inputs = open_inputs(tmp_path, **OPTIONS[kind])
    assert [spec.load().y for spec in inputs.specs(2)] == [None, None]
    (tmp_path / f"a.{kind}").rename(tmp_path / "a.txt")
    assert isinstance(open_data(tmp_path / "a.txt", format=kind), READERS[kind])
    with pytest.raises(ConfigError, match=f"{kind} files cannot be given with weight"):
        open_data(tmp_path / "a.txt", format=kind, weight="w")
    with pytest.raises(ConfigError, match="unknown option 'label'"):
        open_data(tmp_path / "a.txt", format=kind, label="y")
    with pytest.raises(DataError, match="files of two formats"):
        open_data(tmp_path)


def test_tagged_sentences_are_seeded_and_told_by_their_suffixes(tmp_path):
    sentences = make_tagged_sentences(300, n_tags=5, vocabulary=400, seed=2)
    assert sentences == make_tagged_sentences(300, n_tags=5, vocabulary=400, seed=2)
    assert sentences != make_tagged_sentences(300, n_tags=5, vocabulary=400, seed=3)
    assert {tag for _, tags in sentences for tag in tags} == {"T0", "T1", "T2", "T3", "T4"}
    assert all(len(words) == len(tags) > 0 for words, tags in sentences)
    assert len({word for words, _ in sentences for word in words}) > 200

    def guessed(key):
        """The share of later words that get the tag most frequent for their key before."""
        seen = {}
        for words, tags in sentences[:150]:
            for word, tag in zip(words, tags, strict=True):
                seen.setdefault(key(word), []).append(tag)
        best = {k: max(sorted(set(tags)), key=tags.count) for k, tags in seen.items()}
        later = [pair for words, tags in sentences[150:] for pair in zip(words, tags, strict=True)]
        return np.mean([best.get(key(word)) == tag for word, tag in later])

    assert guessed(lambda word: word[-3:]) > 0.6 > guessed(lambda word: word[:1])
    write_conll(tmp_path / "a.conll.gz", sentences)
    found = sentences_of(load("conll", tmp_path, 1))
    assert [[tag for tag, _ in s] for s in found] == [tags for _, tags in sentences]
