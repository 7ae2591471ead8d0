"""Parquet files and Ray Datasets of sequences, trees and values for tasks in Python."""

import json

import numpy as np
import pytest
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm.cli import main
from distsvm.data import open_data, open_inputs
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.errors import DataError
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.task import ParseTask

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RUN = {"C": 10.0, "max_rounds": 3, "executor": "serial", "n_shards": 3}


def write(path, group_rows=7, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=group_rows)
    return str(path)


def load(path, n_shards=1, **options):
    return [s.load() for s in open_data(path, tables=False, **options).specs(n_shards)]


def test_values_are_those_of_json(tmp_path):
    names = pa.array(
        [[("a", 1.5)], [("a", 2.0), ("b", 1.0)], []], pa.map_(pa.string(), pa.float64())
    )
    x = [{"words": ["a", "b"], "n": 1}, {"words": []}, {"words": None, "n": 3}]
    path = write(tmp_path / "a.parquet", x=x, y=names, weight=[1, 2, 0], other=["p", "q", "r"])
    (shard,) = load(path)
    assert shard.x == [{"words": ["a", "b"], "n": 1}, {"words": []}, {"n": 3}]
    assert shard.y == [{"a": 1.5}, {"a": 2.0, "b": 1.0}, {}]
    assert shard.weight.tolist() == [1, 2, 0]
    (shard,) = (s.load() for s in open_inputs(path, tables=False).specs(1))
    assert (shard.y, shard.n) == (None, 3)
    (shard,) = load(path, features="other", label="weight", weight="weight")
    assert (shard.x, shard.y) == (["p", "q", "r"], [1, 2, 0])


def test_any_number_of_shards_gives_the_same_rows(tmp_path):
    values = [[i, [i] * (i % 4)] for i in range(40)]
    paths = [
        write(tmp_path / f"{k}.parquet", x=[v for _, v in part], y=[i for i, _ in part])
        for k, part in enumerate((values[:9], values[9:]))
    ]
    for n_shards in (1, 2, 5, 40):
        shards = load(paths, n_shards)
        assert len(shards) == n_shards
        assert [y for shard in shards for y in shard.y] == list(range(40))
        assert [x for shard in shards for x in shard.x] == [v for _, v in values]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [[1], None], "y": [1, 2]}, r"row 1 \(from 0\), column 'x': a missing value"),
        ({"x": [[1], [2]], "y": [1, None]}, r"row 1 \(from 0\), column 'y': a missing value"),
        (
            {"x": [[[1.0]], [[2.0, float("nan")]]], "y": [1, 2]},
            r"row 1 .*'x': nan, expected finite",
        ),
        ({"x": [1, 2], "y": [1, 2], "weight": [1, -1]}, r"row 1 .*'weight': -1.*a weight ≥ 0"),
        ({"x": [1, 2], "y": [1, 2], "weight": ["a", "b"]}, "column 'weight' is text"),
        ({"x": [1, 2]}, "no column 'y'; there are 'x'"),
    ],
)
def test_bad_rows_are_refused_with_file_row_and_column(tmp_path, columns, message):
    path = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(DataError, match=message) as caught:
        load(path)
    assert path in str(caught.value)


def same_as_json(task, path, rows, **run):
    """Training on the Parquet file gives the bits of training on the same rows as JSONL."""
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # Of one shard: text is cut by its bytes, tables by their rows.
    run = RUN | {"n_shards": 1} | run
    ours = distsvm.train(task, str(path), **run)
    np.testing.assert_array_equal(ours.model.w, distsvm.train(task, str(lines), **run).model.w)
    return ours


def test_sequences_train_and_predict_as_from_json(tmp_path):
    sentences = make_tagged_sentences(40)
    rows = [
        {"x": [[f"w={w}", f"s={w[-1]}"] for w in words], "y": list(tags)}
        for words, tags in sentences
    ]
    path = tmp_path / "a.parquet"
    write(path, x=[row["x"] for row in rows], y=[row["y"] for row in rows])
    result = same_as_json(SequenceTask(), path, rows)
    found = result.model.predict(str(path), executor="serial")
    assert list(map(list, found)) == [
        list(tags) for tags in result.model.predict([row["x"] for row in rows], executor="serial")
    ]
    distsvm.train(SequenceTask(), str(path), **RUN | {"executor": "processes", "n_workers": 2})


def test_a_task_in_python_trains_as_from_json(tmp_path):
    rows = [
        {"x": list(x), "y": list(y), "weight": 1 + i % 3}
        for i, (x, y) in enumerate(zip(*toy_chains(n=30), strict=True))
    ]
    path = tmp_path / "a.parquet"
    write(path, **{name: [row[name] for row in rows] for name in rows[0]})
    result = same_as_json(ToyChain(), path, rows)
    assert result.n_examples == 30
    assert result.model.evaluate(str(path), executor="serial").n_examples == 30


def test_trees_are_texts_in_brackets_as_in_json(tmp_path):
    trees = make_treebank(20)
    rows = [{"x": [list(pair) for pair in tree.sentence()], "y": str(tree)} for tree in trees]
    path = tmp_path / "a.parquet"
    write(path, x=[row["x"] for row in rows], y=[row["y"] for row in rows])
    write_treebank(tmp_path / "a.mrg", trees)
    result = same_as_json(ParseTask(), path, rows)
    of_text = distsvm.train(ParseTask(), str(tmp_path / "a.mrg"), **RUN | {"n_shards": 1})
    np.testing.assert_array_equal(result.model.w, of_text.model.w)


def test_the_command_line_trains_sequences_on_a_parquet_file(tmp_path, capsys):
    path = write(tmp_path / "a.parquet", words=[[["a"], ["b"]]] * 9, tags=[["A", "B"]] * 9)
    words = ["--features-column", "words", "--label-column", "tags", "--data", path]
    assert main(["train", "--task", "sequence", *words, "--model", str(tmp_path / "m")]) == 0
    assert main(["evaluate", "--model", str(tmp_path / "m"), "--data", path, "--json"]) == 0
    assert '"confusion": [[9, 0], [0, 9]]' in capsys.readouterr().out


@pytest.mark.ray
def test_a_ray_dataset_of_values_trains_as_its_parquet_file(tmp_path, ray_session):
    ray_data = pytest.importorskip("ray.data", reason="Ray Data needs ray[data]")
    inputs, outputs = toy_chains(n=30)
    table = pa.table({"x": list(map(list, inputs)), "y": list(map(list, outputs))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    dataset = ray_data.from_arrow([table.slice(at, 10) for at in range(0, 30, 10)])
    ours = distsvm.train(ToyChain(), dataset, **RUN | {"executor": "ray", "n_workers": 2})
    file = distsvm.train(ToyChain(), str(tmp_path / "a.parquet"), **RUN)
    np.testing.assert_array_equal(ours.model.w, file.model.w)
    items = [{"x": list(x), "y": list(y)} for x, y in zip(inputs, outputs, strict=True)]
    (shard,) = (s.load() for s in open_data(ray_data.from_items(items), tables=False).specs(1))
    assert [list(x) for x in shard.x] == [list(x) for x in inputs]
