"""Messages about features use the names of columns, or the numbers of the file."""

import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from distsvm import MulticlassSVC, MulticlassTask, train
from distsvm.data.keeping import load
from distsvm.data.opening import open_data
from distsvm.data.packed import PackedStore
from distsvm.errors import DataError

QUICK = {"executor": "serial", "C": 1.0, "max_rounds": 1}
TABLE = {"age": [1e-9, 2e-9, 0.0, 0.0], "income": [0.0, 1e9, 1e9, 0.0], "label": [0, 1, 1, 0]}
TOLD = "feature 'income' reaches 1e+09, feature 'age' only 2e-09"


def warned(caplog):
    (text,) = [r.getMessage() for r in caplog.records if "badly scaled" in r.getMessage()]
    return text


@pytest.mark.parametrize("n_shards", [1, 2])
def test_a_warning_about_features_of_parquet_uses_the_names_of_columns(tmp_path, caplog, n_shards):
    path = tmp_path / "some.parquet"
    parquet.write_table(pa.table(TABLE), path)
    with caplog.at_level(logging.WARNING):
        train(MulticlassTask(), str(path), n_shards=n_shards, **QUICK)
    assert TOLD in warned(caplog)


@pytest.mark.parametrize("estimator", [False, True])
def test_a_warning_about_features_of_a_data_frame_uses_the_names_of_columns(caplog, estimator):
    frame = pd.DataFrame(TABLE)
    X, y = frame[["age", "income"]], frame["label"]
    with caplog.at_level(logging.WARNING):
        if estimator:
            MulticlassSVC(C=1.0, max_rounds=1).fit(X, y)
        else:
            train(MulticlassTask(), X, y, **QUICK)
    assert TOLD in warned(caplog)


def test_a_warning_about_features_of_svmlight_counts_as_the_file_does(tmp_path, caplog):
    path = tmp_path / "some.svm"
    path.write_text("0 1:1e-9\n1 1:2e-9 2:1e9\n")
    with caplog.at_level(logging.WARNING):
        train(MulticlassTask(), str(path), **QUICK)
    assert "feature 2 reaches 1e+09, feature 1 only 2e-09" in warned(caplog)


def test_names_of_columns_survive_the_cache(tmp_path):
    path, store = tmp_path / "some.parquet", PackedStore(str(tmp_path / "kept"))
    parquet.write_table(pa.table(TABLE), path)
    (spec,) = open_data(str(path)).specs(1)
    first, again = load(spec, store), load(spec, store)
    assert first.columns == again.columns == ("age", "income")


def test_a_value_that_is_not_finite_is_named_by_its_column():
    frame = pd.DataFrame({"age": [1.0, np.nan], "income": [1.0, 2.0]})
    with pytest.raises(DataError, match="example 1: feature 'age' is nan"):
        train(MulticlassTask(), frame, np.array([0, 1]), **QUICK)
    with pytest.raises(DataError, match="example 1: feature 'age' is nan"):
        MulticlassSVC().fit(frame, [0, 1])
