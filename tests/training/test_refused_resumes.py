"""Runs are not resumed from damaged checkpoints, nor with another problem."""

import json
import shutil

import numpy as np
import pytest
from run_examples import CONFIG, INPUTS, OUTPUTS, StopAfter, go
from toy_tasks import ToyChain

from distsvm import train
from distsvm.errors import CheckpointError, ConfigError
from distsvm.training.checkpoint import latest_checkpoint


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


def test_inputs_of_any_class_are_told_apart_by_their_value(tmp_path):
    rows = [Row(x) for x in INPUTS]
    go(tmp_path / "run", inputs=rows, callbacks=[StopAfter(3)])
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=[Row(x[::-1]) for x in INPUTS], resume=True)
    again = go(tmp_path / "run", inputs=[Row(x) for x in INPUTS], resume=True)
    assert again.stop_reason == "eps"
