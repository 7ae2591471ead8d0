"""JSONL files: rows, sequences and anything else, one example a line."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distsvm
from distsvm.data import open_data, open_inputs
from distsvm.data.features import DenseRows, SparseRows
from distsvm.errors import DataError
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


def write(path, examples):
    path.write_text("".join(json.dumps(example) + "\n" for example in examples), encoding="utf-8")
    return str(path)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30), st.integers(1, 5))
def test_any_values_come_back_in_order(tmp_path_factory, pairs, n_shards):
    examples = [{"x": x, "y": y} for x, y in pairs]
    path = write(tmp_path_factory.mktemp("jsonl") / "a.jsonl", examples)
    specs = open_data(path, tables=False).specs(min(n_shards, len(pairs)))
    shards = [spec.load() for spec in specs]
    assert all(shard.n for shard in shards)
    assert [x for shard in shards for x in shard.x] == [x for x, _ in pairs]
    assert [y for shard in shards for y in shard.y] == [y for _, y in pairs]


def test_objects_of_columns_are_sparse_rows_and_lists_dense_ones(tmp_path):
    sparse = write(
        tmp_path / "s.jsonl",
        [{"x": {"7": 2, "0": 1.5}, "y": "a"}, {"x": {}, "y": "b", "weight": 2}],
    )
    shard = open_data(sparse).specs(1)[0].load()
    assert isinstance(shard.x, SparseRows)
    assert (shard.x.columns.tolist(), shard.x.values.tolist()) == ([0, 7], [1.5, 2.0])
    assert (shard.x.n_columns, shard.y.tolist(), shard.weight.tolist()) == (8, ["a", "b"], [1, 2])
    dense = write(tmp_path / "d.jsonl", [{"x": [1, 2.5], "y": 1}, {"x": [0, 3], "y": 0}])
    shard = open_data(dense).specs(1)[0].load()
    assert isinstance(shard.x, DenseRows)
    np.testing.assert_array_equal(shard.x.values, [[1, 2.5], [0, 3]])
    assert shard.y.tolist() == [1, 0]
    assert shard.weight is None


def test_classes_and_sequences_train_from_json_lines(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    path = write(tmp_path / "rows.jsonl", [
        {"x": x, "y": label} for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ])  # fmt: skip
    ours = distsvm.train(MulticlassTask(), path, C=5.0, n_shards=2, executor="serial")
    theirs = distsvm.train(MulticlassTask(), (X, y), C=5.0, n_shards=1, executor="serial")
    assert ours.primal == pytest.approx(theirs.primal, abs=ours.gap + theirs.gap)
    sentences = [
        {"x": [["a"], {"b": 1.0}], "y": ["A", "B"]}, {"x": [["b"]], "y": ["B"]}
    ] * 5  # fmt: skip
    path = write(tmp_path / "tags.jsonl", sentences)
    model = distsvm.train(SequenceTask(), path, C=10.0, executor="serial").model
    assert model.predict(path, executor="serial")[:2] == [["A", "B"], ["B"]]


def test_inputs_need_no_outputs(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"x": [1, 2]}])
    shard = open_inputs(path).specs(1)[0].load()
    assert shard.y is None
    assert shard.x.values.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"x": [1], "y": 1', "a JSON object"),
        ("[1, 2]", 'a JSON object {"x"'),
        ('{"x": [1]}', "a value for 'y'"),
        ('{"y": 1}', "a value for 'x'"),
        ('{"x": [1], "y": 1, "wieght": 2}', "found 'wieght', expected no other keys"),
        ('{"x": [1], "y": 1, "weight": -2}', "a finite number ≥ 0"),
        ('{"x": [1], "y": 1, "weight": 1e400}', "found 'inf', expected a weight"),
        ('{"x": [1e400], "y": 1}', "a finite number for a feature that fits"),
        ('{"x": [NaN], "y": 1}', "found 'NaN', expected finite"),
        ('{"x": ["a"], "y": 1}', "a finite number for a feature"),
        ('{"x": [1, 2], "y": 1}', "1 numbers for x"),
        ('{"x": {"0": 1}, "y": 1}', "a list of numbers for x, as in all"),
        ('{"x": [1], "y": "a"}', "of one kind in all lines"),
        ('{"x": [1], "y": [1]}', "a label"),
        ("[" * 100_000, "a JSON object"),
    ],
)
def test_a_bad_line_is_refused_with_file_and_line(tmp_path, line, expected):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"x": [0], "y": 0}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        open_data(str(path)).specs(1)[0].load()
    assert f"{path}, line 3: " in str(caught.value)
    assert expected in str(caught.value)


def test_names_are_no_columns(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"x": {"age": 1}, "y": 1}])
    with pytest.raises(DataError, match="line 1: found 'age', expected the number of a column"):
        open_data(path).specs(1)[0].load()
