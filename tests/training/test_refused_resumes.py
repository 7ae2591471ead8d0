"""Runs are not resumed from damaged checkpoints, nor with another problem."""

import json
import shutil

import numpy as np
import pytest
from run_examples import CONFIG, INPUTS, OUTPUTS, StopAfter, go, latest_checkpoint
from toy_tasks import ToyChain

from distsvm import resume, train
from distsvm.data.synthetic import make_multiclass
from distsvm.data.writers import write_parts
from distsvm.errors import CheckpointError, ConfigError
from distsvm.structures.classes.task import MulticlassTask


def swapped(folder):
    shutil.copy(folder / "planes-00000.npz", folder / "planes-00001.npz")


def inflated(folder):
    path = folder / "planes-00002.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["loss"] = 3 * arrays["loss"]
    np.savez(path, **arrays)


@pytest.mark.parametrize("harm", [swapped, inflated])
def test_planes_that_are_not_the_shards_own_are_refused(tmp_path, harm):
    go(tmp_path / "run", callbacks=[StopAfter(8)])
    harm(latest_checkpoint(tmp_path / "run").folder)
    with pytest.raises(CheckpointError, match="damaged"):
        go(tmp_path / "run", resume=True)


def damaged(folder):
    path = folder / "driver.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def truncated(folder):
    path = folder / "driver.npz"
    path.write_bytes(path.read_bytes()[:100])


def unreadable(folder):
    (folder / "manifest.json").write_text("{")


def newer(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))


def foreign(folder):
    (folder / "manifest.json").write_text('{"kind": "something else"}')


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damaged, "damaged"),
        (truncated, "damaged"),
        (unreadable, "damaged"),
        (newer, "format 99"),
        (foreign, "does not hold a checkpoint"),
    ],
)
def test_a_checkpoint_that_cannot_be_trusted_is_refused(tmp_path, harm, message):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    harm(latest_checkpoint(tmp_path / "run").folder)
    before = sorted(p.name for p in (tmp_path / "run").rglob("*"))
    with pytest.raises(CheckpointError, match=message):
        go(tmp_path / "run", resume=True)
    assert sorted(p.name for p in (tmp_path / "run").rglob("*")) == before  # nothing is lost


def test_another_problem_is_refused(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=INPUTS[::-1], outputs=OUTPUTS[::-1], resume=True)
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", weight=np.arange(1.0, 61), resume=True)
    with pytest.raises(CheckpointError, match="another task"):
        go(tmp_path / "run", task=ToyChain(n_labels=3), resume=True)
    with pytest.raises(CheckpointError, match=r"C=20\.0"):
        go(tmp_path / "run", C=21.0, resume=True)
    with pytest.raises(CheckpointError, match="does not exist"):
        go(tmp_path / "nothing", resume=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints")  # and before the first checkpoint
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=INPUTS[::-1], outputs=OUTPUTS[::-1], resume=True)
    with pytest.raises(CheckpointError, match=r"C=20\.0"):
        go(tmp_path / "run", C=21.0, resume=True)
    assert go(tmp_path / "run", resume=True).stop_reason == "eps"
    with pytest.raises(ConfigError, match="needs run_dir"):
        train(ToyChain(), INPUTS, OUTPUTS, resume=True, **CONFIG)


def test_a_history_that_does_not_reach_the_checkpoint_is_refused(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    path = tmp_path / "run" / "history.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(CheckpointError, match="3 of the 5 rounds"):
        go(tmp_path / "run", resume=True)


class Row:
    """An input that JSON cannot hold, and whose repr says nothing of its value."""

    def __init__(self, symbols):
        self.symbols = symbols

    def __iter__(self):
        return iter(self.symbols)

    def __len__(self):
        return len(self.symbols)


def test_inputs_of_any_class_are_distinguished_by_their_value(tmp_path):
    rows = [Row(x) for x in INPUTS]
    go(tmp_path / "run", inputs=rows, callbacks=[StopAfter(3)])
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=[Row(x[::-1]) for x in INPUTS], resume=True)
    again = go(tmp_path / "run", inputs=[Row(x) for x in INPUTS], resume=True)
    assert again.stop_reason == "eps"


@pytest.fixture
def of_a_cluster(tmp_path, monkeypatch):
    """A run on files whose folder says that it was on a cluster, with its address."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    X, y = make_multiclass(40, 3, 3)
    paths = write_parts(tmp_path / "data", X, y, 2)
    train(MulticlassTask(), paths, max_rounds=2, executor="serial", run_dir=tmp_path / "run")

    def say(address, **more):
        path = tmp_path / "run" / "run.json"
        told = json.loads(path.read_text())
        told["config"] |= {"executor": "ray", "executor_options": {"address": address}} | more
        path.write_text(json.dumps(told))
        return tmp_path / "run"

    return say


@pytest.fixture
def no_executor(monkeypatch):
    """What an executor would have been made of; none is."""
    asked = []

    def make(name, n_workers, **options):
        asked.append((name, options.get("address")))
        raise InterruptedError

    monkeypatch.setattr("distsvm.training.trainer.make_executor", make)
    return asked


def test_the_cluster_that_a_folder_names_is_not_joined(of_a_cluster, no_executor):
    folder = of_a_cluster("192.0.2.1:6379")
    with pytest.raises(ConfigError, match=r"name it again: address='192\.0\.2\.1:6379'"):
        resume(folder, max_rounds=3)
    assert not no_executor


def test_whoever_resumes_names_the_cluster(of_a_cluster, no_executor, monkeypatch):
    folder = of_a_cluster("192.0.2.1:6379")
    with pytest.raises(InterruptedError):
        resume(folder, executor_options={"address": "192.0.2.2:6379"})
    with pytest.raises(InterruptedError):
        resume(folder, executor="threads")
    monkeypatch.setenv("RAY_ADDRESS", "192.0.2.3:6379")
    with pytest.raises(InterruptedError):
        resume(folder)  # Ray's executor takes that of the environment
    assert no_executor == [("ray", "192.0.2.2:6379"), ("threads", None), ("ray", None)]


def test_the_ray_of_this_machine_needs_no_name(of_a_cluster, no_executor):
    with pytest.raises(InterruptedError):
        resume(of_a_cluster("auto"))
    assert no_executor == [("ray", "auto")]


def test_the_cache_that_a_folder_names_is_not_used(of_a_cluster, tmp_path, caplog):
    folder = of_a_cluster("auto", cache_dir=str(tmp_path / "cache"))
    resume(folder, executor="serial", max_rounds=3)
    assert "cache_dir=" in caplog.text
    assert not (tmp_path / "cache").exists()
    resume(folder, executor="serial", max_rounds=4, cache_dir=tmp_path / "cache")
    assert (tmp_path / "cache").exists()
