"""SVM-HMM files: runs of qids as sentences, texts as tags, numbers as features."""

import gzip

import numpy as np
import pytest
from sentence_rows import sentences_of

from distsvm.errors import DataError
from distsvm.structures.sequences.readers.svmhmm import SvmHmmData


def load(path, n_shards=1, **options):
    return [spec.load() for spec in SvmHmmData(path, **options).specs(n_shards)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.svmhmm"


def test_runs_of_equal_qids_are_sentences(path):
    path.write_bytes(
        b"# head\n1 qid:1 1:0.5 3:-2e1 # the\n2\tqid:1 # cat 4:x\r\n\n"
        b"NN qid:7 2:1\n# between\n: qid:7 10:1e-3\n1 qid:1 1:1\n1 qid:01 1:2"
    )
    (shard,) = load(path)
    assert sentences_of([shard]) == [
        [("1", {1: 0.5, 3: -20.0}), ("2", {})],
        [("NN", {2: 1.0}), (":", {10: 0.001})],
        [("1", {1: 1.0}), ("1", {1: 2.0})],
    ]
    assert shard.x.names is None
    assert shard.x.tokens.n_columns == 11
    assert shard.x.tokens.values.dtype == np.float64
    assert shard.source == f"{path}, bytes 0 to {path.stat().st_size}"
    assert sentences_of(load(path, 3)) == sentences_of([shard])


def test_unlabelled_lines_may_have_tags_and_need_none(path):
    path.write_bytes(b"qid:1 1:2\nNN qid:1 3:4\nqid:2\n")
    data = SvmHmmData(path).unlabelled()
    (shard,) = [spec.load() for spec in data.specs(1)]
    assert shard.y is None
    assert sentences_of([shard]) == [[(None, {1: 2.0}), (None, {3: 4.0})], [(None, {})]]


def test_a_sentence_never_reaches_into_the_next_file(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.svmhmm").write_bytes(b"1 qid:1 1:1\n")
    for n_shards in (1, 2):
        assert len(sentences_of(load(tmp_path, n_shards))) == 2


BAD_LINES = {
    b"1 1:1": ("'1 1:1'", "a tag, then qid:"),
    b"qid:3 1:1": ("'qid:3 1:1'", "a tag, then qid:"),
    b"1 qid:x 1:1": ("'1 qid:x 1:1'", "a tag, then qid: and a whole number"),
    b"1 qid:-1 1:1": ("'1 qid:-1 1:1'", "a tag, then qid:"),
    b"1 qid:": ("'1 qid:'", "a tag, then qid:"),
    b"1 qid:1234567890123456789": ("'1 qid:1234567890123456789'", "a tag, then qid:"),
    b"1 2 qid:1 1:1": ("'1 2 qid:1 1:1'", "a tag, then qid:"),
    b"1 qid:3 1:abc": ("'1:abc'", "a finite number"),
    b"1 qid:3 1:nan": ("'1:nan'", "a finite number"),
    b"1 qid:3 x": ("'x'", "a whole index"),
    b"1 qid:3 2:1 1:1": ("'1:1'", "indices that increase"),
    b"1 qid:3 1:1e999": ("'1:1e999'", "a finite number"),
}


@pytest.mark.parametrize("bad", BAD_LINES)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n_shards", [1, 3])
def test_malformed_line_is_refused_with_file_line_and_expectation(tmp_path, bad, packed, n_shards):
    found, expected = BAD_LINES[bad]
    rows = [b"1 qid:%d 1:1\n\n" % i for i in range(5)]
    text = b"# head\n" + b"".join(rows) + bad + b"\r\n2 qid:9 1:1\n"
    path = tmp_path / ("bad.svmhmm.gz" if packed else "bad.svmhmm")
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(DataError) as caught:
        load(path, n_shards)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 12: found {found}, expected ")
    assert expected in message


def test_bytes_that_are_not_utf8_are_refused(path):
    path.write_bytes(b"1 qid:1 1:1\n\xff qid:1 1:1\n")
    with pytest.raises(DataError, match=r"a\.svmhmm, line 2: found the byte 0xff"):
        load(path)
