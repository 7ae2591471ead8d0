"""What is written as svmlight is read back exactly, or not written."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from svmlight_files import load, no_function_check

from distsvm.data.synthetic import make_sparse_multiclass
from distsvm.data.writers import write_svmlight
from distsvm.errors import DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.svm"


@no_function_check
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([0, 1]),
    st.booleans(),
)
def test_written_rows_are_read_back_exactly(tmp_path, rows, base, as_sparse):
    X, y = np.array(rows), np.array([row[0] for row in rows])
    path = tmp_path / "x.svm"
    write_svmlight(path, sparse.csr_matrix(X) if as_sparse else X, y, index_base=base)
    (shard,) = load(path)
    values, columns, starts = shard.x.arrays()
    back = sparse.csr_matrix((values, columns - base, starts), shape=X.shape)
    np.testing.assert_array_equal(back.toarray(), X)
    np.testing.assert_array_equal(shard.y, y)


def test_written_files_are_what_scikit_learn_reads(path):
    X, y = make_sparse_multiclass(100, 50, 4, n_nonzero=5)
    write_svmlight(path, X, y)
    theirs, their_y = load_svmlight_file(io.BytesIO(path.read_bytes()), n_features=50)
    np.testing.assert_array_equal(theirs.toarray(), X.toarray())
    np.testing.assert_array_equal(their_y, y)


def test_float32_booleans_and_whole_numbers_are_written_short_and_exactly(path):
    write_svmlight(path, np.float32([[0.1, 2]]), [True])
    assert path.read_text() == "1 1:0.10000000149011612 2:2.0\n"
    write_svmlight(path, np.array([[3.0, 0.0, 2.0]]), [-1.0], index_base=0)
    assert path.read_text() == "-1 0:3 2:2\n"
    write_svmlight(path, np.array([[0, 7]]))
    assert path.read_text() == "0 2:7\n"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.array([[np.nan]]), [1], "values of rows 0 to 1 are not finite"),
        (np.array([[1.0]]), [np.inf], "labels of rows 0 to 1 are not finite"),
        (np.array([[1.0]]), ["a"], "expected numbers"),
        (np.array([[1.0]]), [1, 2], r"expected \(1,\)"),
        (np.array([1.0]), [1], r"expected \(examples, columns\)"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(path, X, y, message):
    with pytest.raises(DataError, match=message):
        write_svmlight(path, X, y)
