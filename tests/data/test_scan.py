"""The scan: what a shard holds, however it is kept and cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from distsvm.data.dataset import PairData, TableData
from distsvm.data.features import DenseRows, SparseRows, as_rows
from distsvm.data.readers.svmlight import SvmlightData
from distsvm.data.shard import Shard
from distsvm.errors import DataError
from distsvm.structures.classes import scan
from distsvm.structures.classes.scan import NO_COLUMN, summarise

dtypes = st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_])
tables = dtypes.flatmap(
    lambda dtype: arrays(
        dtype,
        st.tuples(st.integers(1, 12), st.integers(1, 5)),
        elements=st.floats(-1e3, 1e3, width=32) if np.dtype(dtype).kind == "f" else None,
    )
)


def shard_of(X, y=None, weight=None, **fields):
    return Shard(as_rows(X), y, weight, **fields)


@given(tables, st.integers(1, 30), st.booleans())
def test_ranges_equal_the_columns_largest_magnitudes(X, piece, as_sparse):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "PIECE", piece)
        summary = summarise(shard_of(sparse.csr_matrix(X) if as_sparse else X))
    np.testing.assert_array_equal(summary.largest, np.abs(X.astype(float)).max(axis=0))
    assert summary.n_examples == summary.weight == len(X)
    assert (summary.least_column, summary.n_columns) == (0, X.shape[1])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(1, 5))
def test_summaries_of_shards_add_up_to_that_of_the_whole(letters, n_shards):
    rng = np.random.default_rng(len(letters))
    X, weight = rng.standard_normal((len(letters), 3)), rng.random(len(letters))
    data = TableData(sparse.csr_matrix(X), letters, weight)
    whole = summarise(data.specs(1)[0].load())
    total = None
    for spec in data.specs(min(n_shards, len(letters))):
        part = summarise(spec.load())
        total = part if total is None else total + part
    assert total.labels.tolist() == whole.labels.tolist() == sorted(set(letters))
    np.testing.assert_allclose(
        total.counts, [weight[np.array(letters) == c].sum() for c in sorted(set(letters))]
    )
    np.testing.assert_array_equal(total.largest, whole.largest)
    np.testing.assert_allclose([total.weight, whole.weight], weight.sum())


def test_columns_of_files_tell_their_base_and_empty_shards_do_not_decide(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1\n2 3:1 5:2\n")
    empty, full = (summarise(spec.load()) for spec in SvmlightData(tmp_path).specs(2))
    assert (empty.least_column, empty.n_columns) == (NO_COLUMN, 0)
    assert (full.least_column, full.n_columns) == (3, 6)
    total = empty + full
    assert (total.least_column, total.n_columns) == (3, 6)
    assert total.largest.tolist() == [0, 0, 0, 1, 0, 2]


def test_a_matrix_in_memory_counts_from_zero_even_if_its_first_column_is_empty():
    X = sparse.csr_matrix(np.array([[0.0, 1.0]]))
    assert summarise(shard_of(X)).least_column == 0


def test_ranges_are_left_out_when_nobody_asks():
    for X in (np.ones((2, 3)), sparse.csr_matrix(np.ones((2, 3)))):
        summary = summarise(shard_of(X), ranges=False)
        assert summary.largest is None
        assert summary.n_columns == 3


def test_labels_are_counted_one_by_one_without_weights():
    summary = summarise(shard_of(np.ones((4, 1)), np.array(["b", "a", "b", "b"])))
    assert summary.labels.tolist() == ["a", "b"]
    assert summary.counts.tolist() == [1, 3]


def test_pairs_tell_only_their_number_and_weight():
    spec = PairData(["a", "bc"], [0, 1], [0.5, 1.0]).specs(1)[0]
    summary = summarise(spec.load())
    assert (summary.n_examples, summary.weight) == (2, 1.5)
    assert summary.labels is None
    assert summary.largest is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_values_that_are_not_finite_are_refused_with_example_and_column(bad, dtype, ranges, form):
    X = np.ones((50, 4), dtype=dtype)
    X[33, 2] = bad
    good, *_, bad_spec, _ = TableData(form(X), np.zeros(50)).specs(5)
    summarise(good.load(), ranges=ranges)
    with pytest.raises(DataError, match=rf"example 33: feature 2 is {bad}, expected"):
        summarise(bad_spec.load(), ranges=ranges)


def test_labels_that_are_not_finite_are_refused_with_their_example():
    with pytest.raises(DataError, match="example 11: the label is nan"):
        summarise(shard_of(np.ones((2, 1)), np.array([1.0, np.nan]), first=10))


def test_labels_of_different_kinds_are_refused():
    with pytest.raises(DataError, match="labels of different kinds"):
        summarise(shard_of(np.ones((2, 1)), np.array([1, "a"], dtype=object)))


@pytest.mark.parametrize(
    "X",
    [
        np.ones((2, 1), dtype=complex),
        np.array([["a"], ["b"]]),
        np.array([[None], [1]], dtype=object),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
    ],
)
def test_features_that_are_no_real_numbers_are_refused(X):
    with pytest.raises(DataError, match=r"features have dtype .*, expected real numbers"):
        as_rows(X)
    with pytest.raises(DataError, match="here: features have dtype"):
        summarise(Shard(DenseRows(X), None, None, source="here"))


def test_the_users_matrix_is_never_changed():
    arrays_ = (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 3]))
    X = sparse.csr_matrix(arrays_, shape=(1, 3))
    rows = as_rows(X)
    assert rows.columns.tolist() == [0, 2]
    assert rows.values.tolist() == [5.0, 1.0]
    assert X.indices.tolist() == [2, 0, 0]


def test_numbers_unknown_to_compiled_code_become_known_ones():
    for given_, kept in (("f2", "f4"), (">f4", "f4"), (">i8", "i8"), ("i1", "i1"), ("g", "f8")):
        for X in (np.ones((2, 2), given_), np.asfortranarray(np.ones((2, 2), given_))):
            values = as_rows(X).values
            assert values.dtype == np.dtype(kept)
            assert values.dtype.isnative
            assert values.flags.c_contiguous


def test_a_slice_that_is_sent_keeps_its_columns_and_base():
    x = SparseRows(np.arange(4.0), np.array([1, 2, 1, 9]), np.array([0, 2, 3, 4]), 10, False)
    alone = x.rows(1, 3).alone()
    assert alone.columns.tolist() == [1, 9]
    assert alone.starts.tolist() == [0, 1, 2]
    assert (alone.n_columns, alone.zero_based) == (10, False)
