"""Planes that did not change since the checkpoint before are not written again."""

import os

import numpy as np
import pytest
from run_examples import StopAfter, go, history, latest_checkpoint

from distsvm.errors import CheckpointError
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.workers import chain
from distsvm.workers.shard_worker import ShardWorker

ROADS = [{"solver": "one-slack"}, {"solver": "multi-plane"}]
OFTEN = {"checkpoint_rounds": 1, "checkpoint_share": 1, "n_shards": 1}
SHARD = "planes-00000.npz"


def arrays_of(path):
    with np.load(path) as file:
        return {name: file[name] for name in file}


def held_and_written(folder):
    """Planes of the first shard that each checkpoint holds, and that were written for it."""
    held, written = [], []
    for checkpoint in checkpoint_folders(folder):
        arrays = arrays_of(checkpoint / SHARD)
        ages = "stamp" if "stamp" in arrays else "alpha"
        held.append(arrays[ages].size)
        written.append(arrays["slot"].size)
    return held, written


@pytest.mark.parametrize("road", ROADS, ids=str)
def test_planes_that_did_not_change_are_not_written_again(tmp_path, road):
    go(tmp_path / "run", keep_checkpoints=100, callbacks=[StopAfter(30)], **OFTEN, **road)
    held, written = held_and_written(tmp_path / "run")
    assert len(held) == 30
    assert sum(written) < 0.6 * sum(held)
    newest = latest_checkpoint(tmp_path / "run").folder
    for part in newest.glob("before-*.npz"):
        assert part.stat().st_nlink > 1


@pytest.mark.parametrize("cut", [3, 8, 14])
@pytest.mark.parametrize("road", ROADS, ids=str)
def test_a_run_resumed_from_a_chain_of_files_has_the_same_bits(tmp_path, road, cut):
    whole = go(tmp_path / "whole", n_shards=1, **road)
    go(tmp_path / "part", callbacks=[StopAfter(cut)], **OFTEN, **road)
    result = go(tmp_path / "part", resume=True, **OFTEN, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


def test_where_there_are_no_links_every_checkpoint_is_whole(tmp_path, monkeypatch):
    link = os.link

    def refuse(old, new):
        if "before-" in str(new):
            raise OSError("no links here")
        link(old, new)

    monkeypatch.setattr(os, "link", refuse)
    go(tmp_path / "run", keep_checkpoints=100, callbacks=[StopAfter(12)], **OFTEN)
    held, written = held_and_written(tmp_path / "run")
    assert written == held


def chained(folder):
    """A run whose newest checkpoint has a file of an earlier one, and that file."""
    go(folder, callbacks=[StopAfter(12)], **OFTEN)
    return latest_checkpoint(folder).folder / f"before-0-{SHARD}"


def test_an_earlier_file_that_is_gone_is_refused_by_name(tmp_path):
    part = chained(tmp_path / "run")
    part.unlink()
    result = go(tmp_path / "run", resume=True, **OFTEN)
    assert f"{part.name} does not exist; resumed from round-00000011 instead" in result.notes[0]


def test_an_earlier_file_that_was_changed_is_refused(tmp_path):
    part = chained(tmp_path / "run")
    spoilt = bytearray(part.read_bytes())
    spoilt[200] ^= 1
    part.write_bytes(bytes(spoilt))  # the older checkpoint has the same file
    with pytest.raises(CheckpointError, match=rf"{part.name} is damaged: its digest"):
        go(tmp_path / "run", resume=True, **OFTEN)


def test_after_a_checkpoint_that_failed_the_next_one_is_whole(tmp_path, monkeypatch):
    # The worker has written its file, and then another one's could not be written.
    written, whole = [], chain.Chain.write

    def write(self, path, earlier, part):
        lost = None if earlier is None else (earlier[0], "of another file")
        written.append(path)
        return whole(self, path, lost if len(written) % 2 else earlier, part)

    monkeypatch.setattr(chain.Chain, "write", write)
    go(tmp_path / "run", keep_checkpoints=100, callbacks=[StopAfter(12)], **OFTEN)
    for number, checkpoint in enumerate(checkpoint_folders(tmp_path / "run"), 1):
        assert not (number % 2 and (checkpoint / f"before-0-{SHARD}").exists())


def test_a_chain_does_not_grow_for_ever(tmp_path):
    go(tmp_path / "run", keep_checkpoints=100, callbacks=[StopAfter(30)], **OFTEN)
    folders = checkpoint_folders(tmp_path / "run")
    lengths = [len(list(folder.glob(f"before-*-{SHARD}"))) for folder in folders]
    assert 0 < max(lengths) < chain.LONGEST
    assert lengths.count(0) > 1


def test_a_worker_that_was_built_again_writes_all(tmp_path, monkeypatch):
    seen = []
    save = ShardWorker.save_planes

    def forget(self, path, earlier=None):
        self._chain = chain.Chain()  # as a new worker has it
        seen.append(earlier)
        return save(self, path, earlier)

    monkeypatch.setattr(ShardWorker, "save_planes", forget)
    go(tmp_path / "run", keep_checkpoints=100, callbacks=[StopAfter(12)], **OFTEN)
    held, written = held_and_written(tmp_path / "run")
    assert written == held
    assert any(seen)
