"""Errors about an example name the file and line (or row) that it came from."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from distsvm import ParseTask, train
from distsvm.data.dataset import LoadedShard
from distsvm.data.folds import folds
from distsvm.data.keeping import Keeping, load
from distsvm.data.opening import open_data, open_inputs
from distsvm.data.packed import PackedStore
from distsvm.data.shard import joined
from distsvm.errors import DataError, TaskError
from distsvm.oracles.task import Task
from distsvm.workers.cut_part import CutPartMaker
from distsvm.workers.shard_worker import ShardWorker

QUICK = {"executor": "serial", "C": 1.0}


class Picky(Task):
    """Outputs are 0 and 1; the input "bad" breaks the method that is named."""

    dim, largest_loss = 1, 1.0
    string_inputs = True

    def __init__(self, breaks):
        self.breaks = breaks

    def joint_features(self, x, y):
        return np.array([float(y)]) if self._fine(x, "joint_features") else None

    def loss(self, y, z):
        return float(y != z)

    def decode(self, w, x):
        return 0 if self._fine(x, "decode") else None

    def separate(self, w, x, y, rescaling):
        if not self._fine(x, "separate"):
            raise KeyError("no such word")
        return 1 - y

    def _fine(self, x, method):
        return x != "bad" or method != self.breaks


def jsonl(path, examples):
    lines = [json.dumps({"x": x, "y": y}) for x, y in examples]
    path.write_text("\n\n".join(lines) + "\n")  # blank lines are no examples
    return str(path)


def in_parquet(path, examples):
    xs, ys = zip(*examples, strict=True)
    parquet.write_table(pa.table({"x": list(xs), "y": list(ys)}), path, row_group_size=2)
    return str(path)


EXAMPLES = [("a", 0), ("b", 1), ("bad", 0), ("c", 1)]


@pytest.mark.parametrize("method", ["separate", "joint_features"])
@pytest.mark.parametrize("n_shards", [1, 2])
def test_an_error_of_a_task_in_python_names_file_and_line(tmp_path, method, n_shards):
    path = jsonl(tmp_path / "some.jsonl", EXAMPLES)
    with pytest.raises(TaskError, match=rf"some.jsonl, line 5 \(example 2\): .*{method}"):
        train(Picky(method), path, n_shards=n_shards, **QUICK)


def test_an_error_of_a_task_in_python_names_file_and_row_of_parquet(tmp_path):
    path = in_parquet(tmp_path / "some.parquet", EXAMPLES)
    with pytest.raises(TaskError, match=r"some.parquet, row 2 \(from 0\) \(example 2\): .*"):
        train(Picky("separate"), path, n_shards=2, **QUICK)


@pytest.mark.parametrize("write", [jsonl, in_parquet])
def test_an_error_in_prediction_names_its_place_and_no_number_that_is_not_known(tmp_path, write):
    path = write(tmp_path / f"some.{'jsonl' if write is jsonl else 'parquet'}", EXAMPLES)
    specs = open_inputs(path, tables=False).specs(2)
    worker = ShardWorker(specs[1])
    worker.attach(Picky("decode"))
    with pytest.raises(TaskError, match=r"(line 5|row 2 \(from 0\)): decode returned None") as told:
        worker.predict(np.zeros(1))
    assert "example" not in str(told.value)


def test_places_are_known_with_limited_memory(tmp_path):
    path = jsonl(tmp_path / "some.jsonl", EXAMPLES)
    spec = open_data(path, tables=False).specs(1)[0]
    worker = ShardWorker(spec, Keeping(str(tmp_path / "kept"), memory_mb=1000.0))
    worker.bind(Picky("separate"), "margin", CutPartMaker(0), False, 10)
    with pytest.raises(TaskError, match=r"line 5 \(example 12\): .*separate"):
        worker.part.fresh(np.zeros(1))


TREES = "(S (N dogs) (V bark))\n# a comment\n(S (N cats)\n   (V purr)) (S (N a) (V b))\n"


@pytest.mark.parametrize(
    ("row", "line"), [(0, "line 1"), (1, "line 3"), (2, "line 4")], ids=["first", "second", "third"]
)
def test_every_tree_of_a_file_in_brackets_has_its_line(tmp_path, row, line):
    path = tmp_path / "some.mrg"
    path.write_text(TREES)
    (spec,) = open_data(str(path)).specs(1)
    assert load(spec, None).names[row] == f"{path}, {line}"


def test_trees_that_are_left_out_do_not_count(tmp_path):
    path = tmp_path / "some.mrg"
    path.write_text("(S (N dogs) (V bark) (P .))\n(S (N dogs) (V bark))\n")
    (spec,) = open_data(str(path), max_length=2).specs(1)
    assert spec.locate(0) == f"{path}, line 2"


def test_a_sentence_that_is_too_long_is_named_by_its_line(tmp_path):
    path = tmp_path / "some.mrg"
    path.write_text("(S (N a) (N b))\n(S " + "(N a) " * 400 + ")\n")
    with pytest.raises(DataError, match=r"some.mrg, line 2 \(example 1\): a sentence of 400 words"):
        train(ParseTask(memory_mb=0.5), str(path), **QUICK)


def test_a_wrong_tree_in_jsonl_is_named_by_its_line_when_data_is_first_looked_at(tmp_path):
    examples = [([["dogs", "N"]], "(S (N dogs))"), ([["dogs", "N"]], "(S (N cats)")]
    path = jsonl(tmp_path / "some.jsonl", examples)
    with pytest.raises(DataError, match=r"some.jsonl, line 3: .*never closed"):
        train(ParseTask(), path, **QUICK)


def test_an_empty_tree_is_named_by_its_line(tmp_path):
    path = tmp_path / "some.mrg"
    path.write_text("(S (N a))\n(S (-NONE- *))\n")
    with pytest.raises(DataError, match=r"some.mrg, line 2: the tree has only empty elements"):
        load(open_data(str(path)).specs(1)[0], None)


FILES = {
    "some.svm": ("1 1:2\n# none\n2 3:1\n", "line 3"),
    "some.conll": ("a X\n\nb Y\nc Y\n", "line 3, sentence 'b c'"),
    "some.svmhmm": ("X qid:1 1:1\nY qid:2 1:1\n", "line 2"),
    "some.jsonl": ('{"x": [1], "y": 0}\n\n{"x": [2], "y": 1}\n', "line 3"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("form", ["read", "kept", "sent", "taken", "joined"])
def test_a_place_survives_caches_folds_blocks_and_the_way_to_a_worker(tmp_path, name, form):
    text, line = FILES[name]
    path = tmp_path / name
    path.write_text(text)
    (spec,) = open_data(str(path)).specs(1)
    shard, row = load(spec, None), 1
    if form == "kept":
        store = PackedStore(str(tmp_path / "kept"))
        load(spec, store)
        shard = load(spec, store)
    elif form == "sent":
        shard = pickle.loads(pickle.dumps(LoadedShard(shard))).load()
    elif form == "taken":
        shard, row = shard.take(np.array([1])), 0
    elif form == "joined":
        shard, row = joined([shard, shard]), 3
    assert shard.names[row] == f"{path}, {line}"


def test_folds_of_files_know_their_lines(tmp_path):
    path = jsonl(tmp_path / "some.jsonl", EXAMPLES)
    found = set()
    for _, part in folds(open_data(path, tables=False), 2):
        shard = part.specs(1)[0].load()
        found |= {(shard.x[row], shard.names[row]) for row in range(shard.n)}
    lines = {x: 1 + 2 * number for number, (x, _) in enumerate(EXAMPLES)}
    assert found == {(x, f"{path}, line {line}") for x, line in lines.items()}


def test_an_example_is_named_by_its_number_when_its_file_is_gone(tmp_path):
    path = tmp_path / "some.svm"
    path.write_text("1 1:2\n2 3:1\n")
    shard = load(open_data(str(path)).specs(1)[0], None)
    path.unlink()
    assert shard.names[1] == "example 1"
