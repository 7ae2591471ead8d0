"""A block is a fixed group of shards; the choice of blocks and solver belongs to the run."""

import json

import numpy as np
import pytest
from run_examples import StopAfter, go, history
from saved_problems import PROBLEMS
from scipy import sparse
from toy_tasks import ToyChain, toy_chains

from distsvm import BinaryTask, Callback, MulticlassTask, resume, train
from distsvm.data import open_data
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass, write_parts
from distsvm.errors import CheckpointError
from distsvm.executors import make_executor
from distsvm.training.config import TrainConfig
from distsvm.training.solving import Choice, groups

ASCENT = {"solver": "multi-plane", "eps": 0.01}


class Starts(Callback):
    def on_start(self, start):
        self.start = start


def start_of(*given, **config):
    watcher = Starts()
    train(*given, callbacks=[watcher], max_rounds=1, **config)
    return watcher.start.n_shards, watcher.start.n_blocks


def chains(n=200):
    return list(zip(*toy_chains(n=n), strict=True))


@pytest.mark.parametrize(("n_shards", "n_blocks"), [(1, 1), (5, 2), (16, 8), (7, 7), (3, 5)])
def test_groups_are_neighbours_that_cover_all_shards(n_shards, n_blocks):
    found = groups(n_shards, n_blocks)
    assert [shard for group in found for shard in group] == list(range(n_shards))
    assert len(found) == min(n_shards, n_blocks)
    sizes = [len(group) for group in found]
    assert max(sizes) - min(sizes) <= 1


# --- which examples a block has ----------------------------------------------------------


def tables(folder):
    X, y = make_sparse_multiclass(300, 40, 3)
    yield (X, y)
    yield (X.toarray().astype(np.float32), y.astype(str))
    for kind in ("svmlight", "parquet"):
        data = X if kind == "svmlight" else X.toarray()
        write_parts(folder / kind, data, y, 3, kind)
        yield str(folder / kind)


def test_joined_shards_have_the_examples_of_all_in_their_order(tmp_path):
    def dense(rows):
        arrays = rows.arrays()
        if len(arrays) == 1:
            return arrays[0]
        return sparse.csr_matrix(arrays, shape=(rows.n_rows, rows.n_columns)).toarray()

    for given in tables(tmp_path):
        data = open_data(given, tables=True)
        first, *others = data.specs(5)
        (whole,) = data.specs(1)
        joined, expected = first.joined(others).load(), whole.load()
        assert np.array_equal(dense(joined.x), dense(expected.x))
        assert joined.y.tolist() == expected.y.tolist()


def test_joined_lists_keep_weights():
    data = open_data(chains(20), weight=np.arange(20) + 1.0)
    first, *others = data.specs(4)
    shard = first.joined(others).load()
    assert list(shard.x) == [x for x, _ in chains(20)]
    assert shard.weight.tolist() == (np.arange(20) + 1.0).tolist()


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_one_block_has_the_same_bits_whatever_its_shards(tmp_path, kind):
    X, y = make_sparse_multiclass(300, 40, 3)
    data = (X, y)
    if kind == "files":
        write_parts(tmp_path / "data", X, y, 3, "svmlight")
        data = str(tmp_path / "data")
    config = {"C": 50.0, "n_blocks": 1, "executor": "serial", **ASCENT}
    one = train(MulticlassTask(), data, **config)
    many = train(MulticlassTask(), data, n_shards=6, **config)
    assert np.array_equal(one.model.w, many.model.w)
    assert history(one) == history(many)


# --- how many there are ------------------------------------------------------------------


def test_one_process_has_one_block_and_several_have_one_each():
    for executor, expected in (("serial", 1), ("threads", 1), ("processes", 2)):
        n_workers = None if executor == "serial" else 2
        given = {"executor": executor, "n_workers": n_workers, **ASCENT}
        assert start_of(ToyChain(), chains(), **given)[1] == expected
    given = {"n_shards": 12, **ASCENT}
    assert start_of(ToyChain(), chains(), executor="threads", **given) == (12, 1)
    assert start_of(ToyChain(), chains(), executor="processes", n_workers=3, **given) == (12, 3)
    few = {"n_workers": 4, **ASCENT}
    assert start_of(ToyChain(), chains(3), executor="processes", **few)[1] <= 3
    assert start_of(ToyChain(), chains(), executor="serial", n_blocks=5, **given) == (12, 5)
    assert start_of(ToyChain(), chains(), executor="serial", n_blocks=5, **ASCENT) == (5, 5)


def test_a_run_keeps_its_blocks_on_another_executor(tmp_path):
    road = {"eps": 0.01, "solver": "multi-plane"}
    whole = go(tmp_path / "whole", **road)
    go(tmp_path / "part", callbacks=[StopAfter(3)], **road)
    used = json.loads((tmp_path / "part" / "run.json").read_text())["used"]
    assert (used["n_shards"], used["n_blocks"]) == (5, 1)
    result = go(tmp_path / "part", resume=True, executor="processes", n_workers=2, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


@pytest.mark.parametrize("value", [0, -1, "3", 2.5, None, True])
def test_a_run_with_a_damaged_number_of_blocks_is_refused(tmp_path, value):
    road = {"eps": 0.01, "solver": "multi-plane"}
    go(tmp_path / "run", max_rounds=2, **road)
    path = tmp_path / "run" / "run.json"
    run = json.loads(path.read_text())
    run["used"]["n_blocks"] = value
    path.write_text(json.dumps(run))
    with pytest.raises(CheckpointError, match=r"run\.json is damaged.*n_blocks"):
        go(tmp_path / "run", resume=True, **road)


# --- which solver auto takes -------------------------------------------------------------


def solver_of(data, task=None, executor="serial", **config):
    made = make_executor(executor, None, compiled=True)
    opened = open_data(data, tables=True)
    choice = Choice.of(TrainConfig.from_dict(config), task or MulticlassTask(), made, opened)
    return choice.solver.name


@pytest.mark.parametrize("task", [MulticlassTask(), BinaryTask()])
def test_auto_takes_sequential_dual_for_classes_of_many_columns_in_one_process(tmp_path, task):
    X, y = make_sparse_multiclass(300, 200, 2)
    write_parts(tmp_path / "data", X, y, 2, "svmlight")
    for data in ((X, y), (X.toarray(), y), str(tmp_path / "data")):
        assert solver_of(data, task) == "sequential-dual"
        assert solver_of(data, task, "threads") == "sequential-dual"
        assert solver_of(data, task, "processes") == "one-slack"
        assert solver_of(data, task, n_blocks=1) == "sequential-dual"
        assert solver_of(data, task, n_blocks=4) == "one-slack"


def test_auto_takes_multi_plane_where_the_sequential_dual_method_does_not_fit():
    X, y = make_sparse_multiclass(300, 200, 3)
    costs, codes = np.ones((3, 3)) - np.eye(3), np.eye(3)
    assert solver_of((X, y), MulticlassTask(losses=costs)) == "sequential-dual"
    assert solver_of((X, y), MulticlassTask(losses=costs), rescaling="slack") == "multi-plane"
    assert solver_of((X, y), MulticlassTask(codes=codes)) == "multi-plane"


def test_auto_takes_one_slack_for_classes_of_few_columns(tmp_path):
    X, y = make_multiclass(300, 20, 3, seed=0)
    write_parts(tmp_path / "data", X, y, 2, "svmlight")
    write_parts(tmp_path / "table", X, y, 2, "parquet")
    for data in ((X, y), str(tmp_path / "data"), str(tmp_path / "table")):
        assert solver_of(data) == "one-slack"


def test_auto_takes_the_solver_whose_options_are_given():
    X, y = make_sparse_multiclass(100, 200, 3)
    for own in ({"qp": "line-search"}, {"stabilise": 1.0}, {"cache_size": 3}, {"max_cuts": 20}):
        assert solver_of((X, y), **own) == "one-slack"
    few = make_multiclass(100, 5, 3, seed=0)
    for own in ({"ask_share": 0.4}, {"plane_memory_mb": 10.0}):
        assert solver_of(few, **own) == "multi-plane"


def test_a_run_keeps_the_solver_that_auto_took(tmp_path):
    X, y = make_sparse_multiclass(300, 200, 3)
    write_parts(tmp_path / "data", X, y, 2, "svmlight")
    data = str(tmp_path / "data")
    for executor, other in (("serial", "processes"), ("processes", "serial")):
        folder = tmp_path / executor
        train(MulticlassTask(), data, run_dir=folder, executor=executor, max_rounds=2)
        name = json.loads((folder / "run.json").read_text())["problem"]["config"]["solver"]
        assert name == {"serial": "sequential-dual", "processes": "one-slack"}[executor]
        result = resume(folder, executor=other, max_rounds=4)
        assert result.n_rounds == 4


def test_a_run_of_before_there_were_groups_has_a_block_for_each_shard():
    problem = PROBLEMS["sequence"]()
    run = {
        "config": TrainConfig.from_dict(problem.options), "used": {"n_shards": 7},
        "problem": {"config": {"solver": "MultiPlane"}},
    }  # fmt: skip
    assert Choice.recorded(run, "run.json").n_blocks == 7
    run["problem"]["config"]["solver"] = "OneSlack"
    assert Choice.recorded(run, "run.json").n_blocks == 1
