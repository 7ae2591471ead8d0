"""Parquet and Arrow files: forms, shards, and what is refused."""

import builtins
import logging
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from distsvm.data.readers.parquet import ParquetData
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.data.writers import write_parquet
from distsvm.errors import ConfigError, DataError

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")


def load(path, n_shards=1, **options):
    return [spec.load() for spec in ParquetData(path, **options).specs(n_shards)]


def dense(shards):
    return np.concatenate([shard.x.values for shard in shards])


def labels(shards):
    return np.concatenate([shard.y for shard in shards])


def write(path, group_rows=None, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=group_rows)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.parquet"


# --- forms ---------------------------------------------------------------------------------


def test_one_column_a_feature_in_the_order_of_the_file(path):
    write(path, b=[1, 2], label=[0, 1], a=[0.5, -1.5], name=["x", "y"], flag=[True, False])
    (shard,) = load(path)
    np.testing.assert_array_equal(shard.x.values, [[1, 0.5, 1], [2, -1.5, 0]])
    assert shard.x.values.dtype == np.float64
    assert shard.y.tolist() == [0, 1]
    assert shard.weight is None
    assert shard.source == f"{path}, rows 0 to 2"


def test_named_columns_are_taken_in_their_order_and_others_left_out(path):
    write(path, b=[1, 2], target=[0, 1], a=[3, 4], c=[5, 6], w=[0.5, 2.0])
    (shard,) = load(path, label="target", columns=["c", "b"], weight="w")
    np.testing.assert_array_equal(shard.x.values, [[5, 1], [6, 2]])
    assert shard.weight.tolist() == [0.5, 2.0]


def test_an_index_written_by_pandas_is_no_feature(path):
    write(path, a=[1.0, 2.0], label=[0, 1], __index_level_0__=[7, 9])
    assert load(path)[0].x.n_columns == 1


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_lists_of_numbers_are_rows(path, kind):
    type_ = {
        "list": pa.list_(pa.float64()),
        "large_list": pa.large_list(pa.float64()),
        "fixed": pa.list_(pa.float64(), 3),
    }[kind]
    X = np.arange(12.0).reshape(4, 3)
    write(path, features=pa.array(X.tolist(), type_), label=[0, 1, 0, 1], other=[1, 2, 3, 4])
    np.testing.assert_array_equal(dense(load(path, 3)), X)


def test_structs_of_indices_and_values_are_sparse_rows(path):
    rows = [
        {"indices": [0, 7], "values": [1.0, 2.0]},
        {"indices": [], "values": []},
        {"indices": [3], "values": [-1.0]},
    ]
    write(path, features=rows, label=["a", "b", "a"])
    (shard,) = load(path)
    assert shard.x.columns.tolist() == [0, 7, 3]
    assert shard.x.starts.tolist() == [0, 2, 2, 3]
    assert shard.x.values.tolist() == [1.0, 2.0, -1.0]
    assert shard.x.n_columns == 8
    assert shard.x.zero_based


def test_float32_columns_give_float32_and_mixed_ones_float64(path):
    one, two = np.float32([1, 2]), np.array([1.0, 2.0])
    assert load(write(path, a=one, b=one, label=[0, 1]))[0].x.values.dtype == np.float32
    assert load(write(path, a=one, b=two, label=[0, 1]))[0].x.values.dtype == np.float64
    lists = pa.array([[1.0], [2.0]], pa.list_(pa.float32()))
    assert load(write(path, features=lists, label=[0, 1]))[0].x.values.dtype == np.float32


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([3, 1, 3], pa.int8()), np.int64),
        (pa.array([3, 1, 3], pa.uint32()), np.int64),
        (pa.array([0.5, 1, 2], pa.float32()), np.float64),
        (pa.array([True, False, True]), np.bool_),
        (pa.array(["no", "yes", "no"]), np.str_),
        (pa.array(["no", "yes", "no"]).dictionary_encode(), np.str_),
        (pa.array(["no", "yes", "no"], pa.large_string()), np.str_),
    ],
)
def test_labels_are_integers_floats_booleans_or_strings(path, column, kind):
    write(path, a=[1, 2, 3], label=column)
    y = labels(load(path, 2))
    assert issubclass(y.dtype.type, kind)
    assert y.tolist() == column.to_pylist()


def test_labels_are_not_read_for_prediction(path):
    write(path, a=[1.0, 2.0])
    assert load(path, label=None)[0].y is None


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
@pytest.mark.parametrize("ending", ["arrow", "feather"])
def test_arrow_files_equal_parquet_files(tmp_path, path, compression, ending):
    X, y = make_multiclass(100, 3, 4)
    table = pa.table({"label": y, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    feather.write_feather(table, tmp_path / f"x.{ending}", compression, chunksize=7)
    pq.write_table(table, path, row_group_size=9)
    for n_shards in (1, 4, 100):
        ours, theirs = load(tmp_path / f"x.{ending}", n_shards), load(path, n_shards)
        assert len(ours) == len(theirs) == n_shards
        np.testing.assert_array_equal(dense(ours), X)
        np.testing.assert_array_equal(dense(theirs), X)
        np.testing.assert_array_equal(labels(ours), y)


# --- shards --------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 15)), min_size=1, max_size=3),
    st.integers(1, 50),
    st.sampled_from(["columns", "lists", "sparse"]),
)
def test_any_number_of_shards_gives_the_same_rows_in_order(tmp_path, files, n_shards, form):
    n = sum(n_rows for n_rows, _ in files)
    X, y = np.round(np.random.default_rng(0).standard_normal((n, 4)), 1), np.arange(n)
    X[:, 3] = 1.0
    at, paths = 0, []
    for i, (n_rows, group_rows) in enumerate(files):
        part, y_part = X[at : at + n_rows], y[at : at + n_rows]
        paths.append(tmp_path / f"{i}.parquet")
        if form == "columns":
            columns = {f"x{j}": part[:, j] for j in range(4)}
            write(paths[-1], group_rows, **columns, label=y_part)
        else:
            matrix = part if form == "lists" else sparse.csr_matrix(part)
            write_parquet(paths[-1], matrix, y_part, group_rows=group_rows)
        at += n_rows
    shards = load(paths, n_shards)
    assert len(shards) == min(n_shards, n)
    assert all(shard.n for shard in shards)
    np.testing.assert_array_equal(labels(shards), y)
    if form == "sparse":
        back = [sparse.csr_matrix(shard.x.arrays(), (shard.n, 4)).toarray() for shard in shards]
        np.testing.assert_array_equal(np.concatenate(back), X)
    else:
        np.testing.assert_array_equal(dense(shards), X)


def test_row_groups_are_kept_whole_where_there_are_enough(path):
    write(path, 10, a=np.arange(200), label=np.arange(200))
    specs = ParquetData(path).specs(4)
    assert [len(spec.groups) for spec in specs] == [5, 5, 5, 5]
    assert all(group.n_rows == 10 for spec in specs for group in spec.groups)


def test_files_without_rows_are_passed_over_among_others(tmp_path):
    write(tmp_path / "a.parquet", a=pa.array([], pa.int64()), label=pa.array([], pa.int64()))
    write(tmp_path / "b.parquet", a=[1, 2], label=[0, 1])
    assert labels(load(tmp_path)).tolist() == [0, 1]


def test_columns_are_found_by_name_in_every_file(tmp_path):
    write(tmp_path / "a.parquet", a=[1.0], b=[2.0], label=[0])
    write(tmp_path / "b.parquet", label=[1], b=[4.0], a=[3.0])
    np.testing.assert_array_equal(dense(load(tmp_path)), [[1, 2], [3, 4]])


def test_default_number_of_shards_follows_the_rows_and_too_many_are_reduced(path, caplog):
    write(path, a=np.arange(100), label=np.arange(100))
    assert len(ParquetData(path).specs()) == 3
    with caplog.at_level(logging.WARNING):
        assert len(ParquetData(path).specs(200)) == 100
    assert "n_shards=200" in caplog.text


def test_specs_are_small_and_travel(path):
    X, y = make_sparse_multiclass(300, 50, 3, n_nonzero=5)
    write_parquet(path, X, y, group_rows=20)
    for spec in ParquetData(path).specs(5):
        sent = pickle.dumps(spec)
        assert len(sent) < 2000
        np.testing.assert_array_equal(pickle.loads(sent).load().x.values, spec.load().x.values)


# --- what is refused -----------------------------------------------------------------------


def refused(path, message, **options):
    with pytest.raises(DataError, match=message):
        load(path, **options)


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_missing_and_infinite_numbers_are_refused_with_file_row_and_column(path, bad):
    column = [1.0] * 25
    column[17] = bad
    write(path, 10, a=np.ones(25), b=column, label=np.ones(25))
    refused(path, r"a\.parquet, row 17 \(from 0\), column 'b': .*, expected a", n_shards=4)
    write(path, 10, a=np.ones(25), label=column)
    refused(path, r"row 17 \(from 0\), column 'label'", n_shards=4)
    write(path, 10, features=[[1.0, value] for value in column], label=np.ones(25))
    refused(path, r"row 17 \(from 0\), column 'features'\[1\]", n_shards=4)
    rows = [{"indices": [3, 5, 8], "values": [1.0, 2.0, value]} for value in column]
    write(path, 10, features=rows, label=np.ones(25))
    refused(path, r"row 17 \(from 0\), column 'features', entry 2", n_shards=4)


def test_missing_label_column_is_refused_with_the_names_there_are(path):
    write(path, a=[1.0], target=[1])
    refused(path, r"a\.parquet: no column 'label'; there are 'a', 'target'")
    refused(path, "no column 'z'", label="target", columns=["a", "z"])
    refused(path, "no column 'w'", label="target", weight="w")


def test_ragged_lists_are_refused_wherever_they_are(tmp_path):
    write(tmp_path / "a.parquet", features=[[1.0, 2.0], [1.0]], label=[0, 1])
    refused(tmp_path, r"a\.parquet, row 1 .*: a list of 1, expected 2 numbers")
    write(tmp_path / "a.parquet", features=[[1.0, 2.0]], label=[0])
    write(tmp_path / "b.parquet", features=[[1.0, 2.0, 3.0]], label=[0])
    refused(tmp_path, r"b\.parquet, row 0 .*: a list of 3, expected 2 numbers")
    write(tmp_path / "a.parquet", features=[None, [1.0]], label=[0, 1])
    refused(tmp_path / "a.parquet", r"row 0 .*: a missing value, expected a list")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"indices": [1, 2], "values": [1.0]}, "2 indices and 1 values"),
        ({"indices": [2, 2], "values": [1.0, 2.0]}, "entry 1: index 2, expected .* increase"),
        ({"indices": [5, 2], "values": [1.0, 2.0]}, "entry 1: index 2, expected .* increase"),
        ({"indices": [-1, 2], "values": [1.0, 2.0]}, "entry 0: index -1, expected indices ≥ 0"),
        ({"indices": None, "values": [1.0]}, "expected a list"),
        ({"indices": [None], "values": [1.0]}, "expected a number"),
        (None, "expected indices and values"),
    ],
)
def test_sparse_rows_that_are_none_are_refused(path, row, message):
    good = {"indices": [4, 6], "values": [1.0, 2.0]}
    write(path, features=[good, {"indices": [], "values": []}, row, good], label=[0, 1, 0, 1])
    refused(path, rf"row 2 \(from 0\), column 'features'.*: .*{message}|row 2.*{message}")


def test_columns_of_other_types_are_refused(path):
    write(path, features=["a", "b"], label=[0, 1])
    refused(path, "no features, which are columns of numbers, in 'features', 'label'")
    refused(path, "'features' is text, expected lists of numbers", features="features")
    write(path, a=["x"], label=[0])
    refused(path, "column 'a' is text, expected numbers", columns=["a"])
    write(path, a=[1], label=pa.array([0], pa.timestamp("ms")))
    refused(path, r"'label' is timestamp\[ms\], expected integers, floats, strings or booleans")


def test_different_schemas_are_refused_with_both_files(tmp_path):
    write(tmp_path / "a.parquet", a=[1.0], label=[0])
    for columns, message in (
        ({"a": [1], "label": [0]}, "column 'a' is int64, expected double as in .*a.parquet"),
        ({"a": [1.0], "b": [1.0], "label": [0]}, "'b' is double, expected none of this name"),
        ({"c": [1.0], "label": [0]}, "'a' is missing, expected double"),
        ({"a": [1.0], "label": ["x"]}, "'label' is text, expected int64"),
        ({"features": [[1.0]], "label": [0]}, "'a' is missing, expected double"),
    ):
        write(tmp_path / "b.parquet", **columns)
        refused(tmp_path, rf"b\.parquet: column {message}|b\.parquet: .*{message}")


def test_weights_below_zero_are_refused(path):
    write(path, a=[1.0, 2.0], w=[1.0, -1.0], label=[0, 1])
    refused(path, r"row 1 .*column 'w': -1.0, expected a weight ≥ 0", weight="w")


def test_no_rows_at_all_are_refused(path):
    write(path, a=pa.array([], pa.int64()), label=pa.array([], pa.int64()))
    refused(path, r"a\.parquet: there are no rows")


def test_files_that_are_neither_or_damaged_are_refused(path):
    path.write_bytes(b"1 1:1\n")
    refused(path, r"a\.parquet: neither a Parquet nor an Arrow file")
    write(path, a=np.arange(1000), label=np.arange(1000))
    path.write_bytes(path.read_bytes()[:1000])
    refused(path, r"a\.parquet: cannot be read")


def test_file_that_changed_before_loading_is_named(path):
    write(path, a=[1, 2, 3], label=[0, 1, 0])
    spec = ParquetData(path).specs(1)[0]
    write(path, a=[1, 2], label=[0, 1])
    with pytest.raises(DataError, match=r"a\.parquet, .*the file changed"):
        spec.load()
    path.unlink()
    with pytest.raises(DataError, match="not found on"):
        spec.load()


def test_options_that_contradict_are_refused(path):
    write(path, a=[1.0], label=[0])
    with pytest.raises(ConfigError, match="features and columns are both given"):
        ParquetData(path, features="a", columns=["a"])
    with pytest.raises(ConfigError, match="expected a list of column names"):
        ParquetData(path, columns="a")
    with pytest.raises(ConfigError, match="n_shards=0"):
        ParquetData(path).specs(0)


def test_without_pyarrow_the_hint_says_what_to_install(path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r'pip install "distsvm\[arrow\]"'):
        ParquetData(path)
