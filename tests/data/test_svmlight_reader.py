"""The svmlight reader against scikit-learn's, in any number of shards and files."""

import gzip
import logging
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from svmlight_files import load, no_function_check, read, rows_of

from distsvm.data.readers import lines
from distsvm.data.readers.svmlight import SvmlightData
from distsvm.data.synthetic import make_sparse_multiclass
from distsvm.data.writers import write_svmlight
from distsvm.errors import ConfigError, DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.svm"


# --- what is read ------------------------------------------------------------------------


def test_random_data_equals_scikit_learns_reader(path):
    X, y = make_sparse_multiclass(300, 1000, 5, n_nonzero=20, seed=1)
    X.data *= np.random.default_rng(0).choice([1e-7, -1.0, 12345.678], X.nnz)
    dump_svmlight_file(X, y, str(path), zero_based=True)
    theirs, their_y = load_svmlight_file(str(path), zero_based=True)
    (ours,) = load(path)
    np.testing.assert_array_equal(ours.x.values, theirs.data)
    np.testing.assert_array_equal(ours.x.columns, theirs.indices)
    np.testing.assert_array_equal(ours.x.starts, theirs.indptr)
    np.testing.assert_array_equal(ours.y, their_y)
    assert ours.x.n_columns == theirs.shape[1]


def test_comments_blanks_queries_and_ends_of_lines_are_as_the_format_allows(path):
    text = (
        b"# a header 1:2\r\n\r\n  \t\n"
        b"+1 qid:7 1:0.5 3:-2e1 # a comment 4:x\r\n"
        b"-1\t2:.25   10:5.\n"
        b"3.5#none\n"
        b"  2 0:0 1:+1E+2 "
    )
    shard = read(path, text)
    assert rows_of([shard]) == [
        (1.0, [1, 3], [0.5, -20.0]),
        (-1.0, [2, 10], [0.25, 5.0]),
        (3.5, [], []),
        (2.0, [0, 1], [0.0, 100.0]),
    ]
    assert shard.x.n_columns == 11
    assert not shard.x.zero_based
    assert shard.weight is None
    assert shard.source == f"{path}, bytes 0 to {len(text)}"


def test_unlabelled_lines_may_have_labels_and_need_none(path):
    shard = read(path, b"1:2 3:4\n7 1:5\nqid:3 2:1\n0\n", labelled=False)
    assert shard.y is None
    assert shard.x.columns.tolist() == [1, 3, 1, 2]
    assert shard.x.starts.tolist() == [0, 2, 3, 4, 4]


def test_columns_are_int32_until_one_is_larger(path):
    assert read(path, b"1 2147483647:1\n").x.columns.dtype == np.int32
    shard = read(path, b"1 5:1\n1 2147483648:1 999999999999999999:2\n")
    assert shard.x.columns.tolist() == [5, 2147483648, 999999999999999999]
    assert shard.x.n_columns == 10**18
    assert shard.x.starts.dtype == shard.x.columns.dtype == np.int64


def test_widening_in_a_later_block_keeps_earlier_columns(path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 8)
    shard = read(path, b"1 5:1\n1 6:1\n1 3000000000:1\n1 7:1\n")
    assert shard.x.columns.tolist() == [5, 6, 3000000000, 7]


@settings(max_examples=400)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_writing_and_parsing(value):
    assert_parsed(repr(value))


@settings(max_examples=400)
@given(
    st.text("0123456789", min_size=1, max_size=22),
    st.text("0123456789", max_size=22),
    st.sampled_from(["", "e", "E"]),
    st.integers(-40, 40),
)
def test_every_decimal_is_rounded_correctly(whole, fraction, e, exponent):
    assert_parsed(f"{whole}.{fraction}" + (f"{e}{exponent}" if e else ""))


@given(st.integers(2**53, 2**59), st.integers(-22, 22))
def test_decimals_near_a_tie_are_rounded_correctly(odd, power):
    # Half-way between two floats, and a little beside it.
    for digits in (2 * odd + 1, 2 * odd, 2 * odd - 1):
        assert_parsed(f"{digits}e{power}")


def assert_parsed(token):
    from distsvm.data.readers.svmlight import SvmlightSpec

    token = token.lstrip("-")
    y, _, _, values = SvmlightSpec(()).parse("", 0, f"{token} 1:+{token} 2:-{token}\n".encode())
    assert y[0] == values[0] == -values[1] == float(token)


def test_float32_values_are_rounded_from_the_decimal(path):
    text = b"1 1:0.1 2:16777217 3:1e-3\n"
    shard = read(path, text, dtype=np.float32)
    assert shard.x.values.dtype == np.float32
    assert shard.x.values.tolist() == np.float32([0.1, 16777217, 1e-3]).tolist()


def test_dtypes_other_than_float_are_refused(path):
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(ConfigError, match="expected float32 or float64"):
        SvmlightData(path, dtype=np.int32)


# --- shards ------------------------------------------------------------------------------


line = st.one_of(
    st.builds(
        lambda label, columns, end: (
            " ".join([str(label), *(f"{c}:{c / 7!r}" for c in sorted(columns))]) + end
        ).encode(),
        st.integers(-3, 3),
        st.sets(st.integers(0, 50), max_size=12),
        st.sampled_from(["\n", "\r\n", " # 1:1\n"]),
    ),
    st.sampled_from([b"\n", b"# comment\n", b"  \r\n"]),
)
texts = st.lists(line, min_size=1, max_size=30).map(b"".join).filter(lambda t: rows_in(t) > 0)


def rows_in(text):
    return sum(line.split(b"#")[0].strip() != b"" for line in text.split(b"\n"))


@no_function_check
@given(st.lists(texts, min_size=1, max_size=4), st.integers(1, 40), st.integers(1, 80))
def test_any_number_of_shards_gives_the_same_rows_in_order(tmp_path, files, n_shards, block):
    for i, text in enumerate(files):
        (tmp_path / f"{i}.svm").write_bytes(text)
    paths = [tmp_path / f"{i}.svm" for i in range(len(files))]
    whole = rows_of(load(paths, 1))
    assert len(whole) == sum(map(rows_in, files))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        shards = load(paths, n_shards)
    assert rows_of(shards) == whole
    assert all(shard.n for shard in shards)
    assert len(shards) == min(n_shards, len(whole))


def test_an_end_without_newline_loses_nothing(path):
    shard = read(path, b"1 1:1\n2 2:12")
    assert rows_of([shard])[-1] == (2.0, [2], [12.0])


def test_shards_are_balanced_by_bytes(tmp_path):
    X, y = make_sparse_multiclass(2000, 500, 3, n_nonzero=30)
    write_svmlight(tmp_path / "a.svm", X[:1500], y[:1500])
    write_svmlight(tmp_path / "b.svm", X[1500:1520], y[1500:1520])
    write_svmlight(tmp_path / "c.svm", X[1520:], y[1520:])
    specs = SvmlightData(tmp_path).specs(10)
    sizes = [sum(part.n_bytes for part in spec.parts) for spec in specs]
    assert max(sizes) < 1.2 * np.mean(sizes)
    assert sum(spec.load().n for spec in specs) == 2000


def test_small_files_share_a_shard_and_its_source_names_them(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.svm").write_bytes(b"1 1:1\n" * (i + 1))
    first, second = load(tmp_path, 2)
    assert (first.n, second.n) == (10, 11)
    assert "0.svm" in first.source
    assert "3.svm" in first.source
    assert "(4 files)" in first.source
    assert second.source.count("bytes") == 2


def test_default_number_of_shards_follows_the_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"1 1:1.00\n" * 20000)
    (tmp_path / "b").write_bytes(b"1 1:1.00\n" * 200000)
    assert len(SvmlightData(tmp_path / "a").specs()) == 2
    assert len(SvmlightData(tmp_path / "b").specs()) == 16


def test_too_many_shards_are_reduced_with_a_warning(path, caplog):
    path.write_bytes(b"1 1:1\n# nothing\n1 2:1\n")
    with caplog.at_level(logging.WARNING):
        assert len(SvmlightData(path).specs(5)) == 2
    assert "n_shards=5" in caplog.text
    with pytest.raises(ConfigError, match="n_shards=0"):
        SvmlightData(path).specs(0)


def test_specs_are_small_and_travel(tmp_path):
    X, y = make_sparse_multiclass(500, 100, 3, n_nonzero=10)
    write_svmlight(tmp_path / "a.svm", X, y)
    for spec in SvmlightData(tmp_path).specs(4):
        sent = pickle.dumps(spec)
        assert len(sent) < 1000
        assert rows_of([pickle.loads(sent).load()]) == rows_of([spec.load()])


# --- files -------------------------------------------------------------------------------


def test_packed_files_equal_plain_ones_and_are_never_cut(tmp_path):
    X, y = make_sparse_multiclass(200, 100, 3, n_nonzero=10)
    write_svmlight(tmp_path / "a.svm", X, y)
    write_svmlight(tmp_path / "b.svm.gz", X, y)
    (plain,), (packed,) = load(tmp_path / "a.svm"), load(tmp_path / "b.svm.gz", 5)
    assert rows_of([plain]) == rows_of([packed])
    assert packed.source == str(tmp_path / "b.svm.gz")
    assert rows_of(load(tmp_path, 7)) == 2 * rows_of([plain])


def test_equal_data_gives_equal_packed_files(tmp_path):
    X, y = make_sparse_multiclass(50, 100, 3, n_nonzero=10)
    for name in ("a.gz", "b.gz"):
        write_svmlight(tmp_path / name, X, y)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("kept", [0.5, 0.98])
def test_truncated_packed_file_is_refused_with_its_name(tmp_path, kept):
    packed = gzip.compress(b"".join(b"%d 1:%d\n" % (i, i * i) for i in range(5000)))
    path = tmp_path / "a.svm.gz"
    path.write_bytes(packed[: int(kept * len(packed))])
    with pytest.raises(DataError, match=r"a\.svm\.gz: truncated or damaged gzip"):
        load(path)


def test_text_that_is_called_packed_is_refused(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"1 1:1\n")
    with pytest.raises(DataError, match="truncated or damaged gzip"):
        load(tmp_path / "a.gz")


def test_folders_skip_hidden_files_and_patterns_are_sorted(tmp_path):
    for name in ("b.svm", "a.svm", ".hidden", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"1 1:1\n")
    (tmp_path / "folder").mkdir()
    expected = [str(tmp_path / "a.svm"), str(tmp_path / "b.svm")]
    assert SvmlightData(tmp_path).paths == expected
    assert SvmlightData(str(tmp_path / "*.svm")).paths == expected
    assert SvmlightData(expected[::-1]).paths == expected[::-1]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only this\n"])
@pytest.mark.parametrize("name", ["empty.svm", "empty.svm.gz"])
def test_file_without_examples_is_refused_by_name(tmp_path, text, name):
    (tmp_path / "full.svm").write_bytes(b"1 1:1\n")
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(DataError, match=rf"{re.escape(name)}: the file has no examples"):
        load(tmp_path)


def test_missing_files_are_refused_by_name(tmp_path):
    for path in (tmp_path / "none.svm", tmp_path / "*.svm", []):
        with pytest.raises(DataError, match=r"no such file|no file matches|empty list"):
            SvmlightData(path)
    with pytest.raises(DataError, match="the folder has no files"):
        SvmlightData(tmp_path)


def test_file_that_vanished_or_shrank_before_loading_is_named(path):
    path.write_bytes(b"1 1:1\n" * 10)
    spec = SvmlightData(path).specs(1)[0]
    path.write_bytes(b"1 1:1\n" * 9)
    with pytest.raises(DataError, match=r"a\.svm: the file became shorter"):
        spec.load()
    path.unlink()
    with pytest.raises(DataError, match=r"a\.svm: not found on .*same files"):
        spec.load()
