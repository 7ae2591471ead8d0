"""open_data: which kind of data is meant, by rules and not by guesses."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from distsvm.data import PairData, TableData, open_data
from distsvm.data.opening import open_inputs
from distsvm.data.readers.svmlight import SvmlightData
from distsvm.errors import ConfigError, DataError
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.treebank import TreebankData

X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
PAIRS = [([1, 2], [0, 1]), ([3], [1]), ([4, 5, 6], [0, 0, 1])]


class Frame:
    """What open_data knows of a data frame."""

    def __array__(self, dtype=None, copy=None):
        return X


@pytest.mark.parametrize("table", [X, sparse.csr_matrix(X), sparse.csc_array(X), Frame()])
def test_arrays_matrices_and_frames_are_tables(table):
    for data in (open_data(table, y), open_data((table, y)), open_data((table, y.tolist()))):
        assert isinstance(data, TableData)
        shard = data.specs(1)[0].load()
        assert shard.n == 3
        assert shard.y.tolist() == [0, 1, 0]
    assert open_data(table).shard.y is None


def test_pandas_frames_are_tables():
    pd = pytest.importorskip("pandas")
    data = open_data(pd.DataFrame(X), pd.Series(list("aba")))
    np.testing.assert_array_equal(data.shard.x.values, X)
    assert data.shard.y.tolist() == ["a", "b", "a"]


def test_weights_go_with_data_in_memory():
    assert open_data(X, y, [1, 2, 3]).shard.weight.tolist() == [1, 2, 3]
    assert open_data(PAIRS, weight=[1, 2, 3]).shard.weight.tolist() == [1, 2, 3]


@pytest.mark.parametrize("pairs", [PAIRS, tuple(PAIRS), PAIRS[:2], tuple(PAIRS[:2])])
def test_lists_and_tuples_of_pairs_are_pairs(pairs):
    data = open_data(pairs)
    assert isinstance(data, PairData)
    assert list(zip(data.inputs, data.outputs, strict=True)) == list(pairs)


def test_lists_with_outputs_are_inputs_even_if_they_look_like_tables():
    for inputs in ([[1, 2], [3, 4]], ["a.svm", "b.svm"], [X, X], ([1], [2, 3])):
        data = open_data(inputs, [0, 1])
        assert isinstance(data, PairData)
        assert data.inputs is inputs
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[1], [2, 3]]
    assert isinstance(open_data(ragged, np.array([0, 1])), PairData)


def test_a_tuple_that_begins_with_a_list_holds_inputs_and_outputs():
    for outputs in ([3, 4], np.array([3, 4])):
        found = open_data(([[1], "two"], outputs), tables=False)
        assert found.inputs == [[1], "two"]
        assert list(found.outputs) == [3, 4]


def test_pairs_whose_inputs_are_arrays_are_pairs():
    data = open_data([(X, 0), (X, 1)])
    assert isinstance(data, PairData)
    assert data.outputs == [0, 1]


def test_a_data_set_is_returned_and_takes_nothing_else():
    data = PairData([1], [2])
    assert open_data(data) is data
    with pytest.raises(ConfigError, match="a data set cannot be given with outputs, format"):
        open_data(data, [1], format="svmlight")


@pytest.mark.parametrize("name", ["a", "a.svm", "a.libsvm", "A.TXT", "a.dat", "a.t", "a.svm.gz"])
def test_names_of_text_files_are_svmlight(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    for source in (tmp_path / name, str(tmp_path / name), [tmp_path / name], str(tmp_path / "*")):
        data = open_data(source, dtype=np.float32)
        assert isinstance(data, SvmlightData)
        assert data.dtype == np.float32


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.arrow", "A.feather"])
def test_names_of_tables_are_parquet(tmp_path, name):
    pytest.importorskip("pyarrow")
    from distsvm.data.readers.parquet import ParquetData

    (tmp_path / name).write_bytes(b"")
    assert isinstance(open_data(tmp_path, weight="w", label="y"), ParquetData)


@pytest.mark.parametrize(
    "name", ["a.mrg", "a.tree", "A.TREES", "a.brackets", "a.ptb", "a.mrg.gz", "a.trees.gz"]
)
def test_names_of_treebanks_are_trees(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    for source in (tmp_path / name, [str(tmp_path / name)], tmp_path, str(tmp_path / "*")):
        data = open_data(source, max_length=9, strip_functions=False)
        assert isinstance(data, TreebankData)
        assert (data.max_length, data.strip_functions) == (9, False)
    assert not open_inputs(tmp_path).labelled


def test_the_format_treebank_takes_the_trees_of_a_mixed_folder(tmp_path):
    write_treebank(tmp_path / "a.mrg", make_treebank(3))
    (tmp_path / "b.svm").write_bytes(b"1 1:1\n")
    with pytest.raises(DataError, match="files of two formats"):
        open_data(tmp_path)
    assert open_data(tmp_path, format="treebank").specs(1)[0].load().n == 3
    (tmp_path / "b.svm").rename(tmp_path / "trees.txt")
    (tmp_path / "trees.txt").write_text("(S (N a))")
    assert open_data(tmp_path / "trees.txt", format="treebank").specs(1)[0].load().n == 1
    with pytest.raises(ConfigError, match="unknown option 'dtype', expected one of strip_empty"):
        open_data(tmp_path / "a.mrg", dtype=np.float32)


def test_the_format_decides_where_it_is_given(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1 1:1\n")
    with pytest.raises(
        DataError, match=r"a\.csv: the ending is of no known.*give format and one of"
    ):
        open_data(tmp_path)
    assert isinstance(open_data(tmp_path, format="libsvm"), SvmlightData)
    with pytest.raises(ConfigError, match="format='csv': expected one of svmlight"):
        open_data(tmp_path, format="csv")


def test_files_of_two_formats_are_refused(tmp_path):
    for name in ("a.svm", "b.parquet"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError, match="files of two formats"):
        open_data(tmp_path)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.svm: no such file"):
        open_data([tmp_path / "none.svm"])


@pytest.mark.parametrize(
    ("source", "given", "message"),
    [
        ("a.svm", {"outputs": [1]}, "files, .*, cannot be given with outputs"),
        ("a.svm", {"weight": [1.0]}, "svmlight files cannot be given with weight"),
        ("a.svm", {"label": "y"}, "unknown option 'label', expected one of dtype, labelled"),
        (X, {"format": "svmlight"}, "data in memory cannot be given with format"),
        (X, {"label": "y"}, "data in memory cannot be given with label"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, monkeypatch, source, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n")
    with pytest.raises(ConfigError, match=message):
        open_data(source, **given)


@pytest.mark.parametrize(
    ("source", "outputs", "message"),
    [
        (3, None, r"the data is 3 \(int\), expected a path"),
        (None, None, r"the data is None \(NoneType\)"),
        ({"a": 1}, None, r"\(dict\), expected"),
        ((pair for pair in PAIRS), None, r"\(generator\), expected"),
        ([[1, 2], [3, 4]], None, r"item 0 of the data is \[1, 2\] \(list\), expected a pair"),
        (([1, 2], 5), None, r"outputs are 5 \(int\)"),
        (((1, 2, 3), (4, 5, 6)), None, "expected a pair .* two lists"),
        ([1, 2], 5, r"outputs are 5 \(int\)"),
        ([1, 2], [5], "1 outputs for 2 inputs"),
        (X, [0, 1], r"y has shape \(2,\), expected \(3,\)"),
        (np.arange(3.0), y, r"shape \(3,\), expected \(examples, columns\)"),
    ],
)
def test_anything_else_is_refused_with_what_was_given(source, outputs, message):
    with pytest.raises(DataError, match=message):
        open_data(source, outputs)


def test_looking_at_data_in_memory_loads_neither_numba_nor_pyarrow():
    code = (
        "import sys, numpy as np; from distsvm.data import open_data;"
        "open_data(np.ones((2, 2)), [0, 1]).specs(1);"
        "sys.exit(any(name in sys.modules for name in ('numba', 'pyarrow', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
