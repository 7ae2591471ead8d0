"""A disk that takes nothing more costs checkpoints, never the run."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from run_examples import SHORT, Callback, go, history, kept_history
from toy_tasks import ToyChain

from distsvm import storage
from distsvm.errors import StoreError
from distsvm.model import load_model
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.training.run_state import read_state

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Refuses to begin files whose path holds one of these words."""

    def __init__(self, monkeypatch):
        self.full_for = ()
        file_beside = storage.file_beside

        def begin(path, *private):
            if any(word in str(path) for word in self.full_for):
                raise FULL
            return file_beside(path, *private)

        monkeypatch.setattr(storage, "file_beside", begin)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return go(tmp_path_factory.mktemp("short") / "run", **SHORT)


class Fills(Callback):
    """The disk is full for some files after one round, and has room after another."""

    def __init__(self, disk, words, first, last=10**9):
        self.disk, self.words, self.first, self.last = disk, words, first, last

    def on_round(self, record):
        self.disk.full_for = self.words if self.first <= record.number < self.last else ()


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_a_checkpoint_that_the_disk_refuses_is_noted_and_the_next_is_written(
    tmp_path, disk, solver, executor
):
    more = SHORT | {"max_rounds": 5, "solver": solver, "executor": executor}
    peaceful = go(tmp_path / "peace", **more)
    result = go(tmp_path / "run", callbacks=[Fills(disk, ("planes-",), 2, 3)], **more)
    assert history(result) == history(peaceful)
    assert len(result.notes) == 1
    assert re.search(
        r"no checkpoint after round 2: .*planes-.*cannot be written: No space", result.notes[0]
    )
    assert [p.name for p in checkpoint_folders(tmp_path / "run")] == ["round-00000004"]


def test_the_last_checkpoint_is_written_without_planes_if_they_do_not_fit(tmp_path, disk, caplog):
    more = SHORT | {"max_rounds": 5, "solver": "multi-plane", "n_blocks": 2}
    result = go(tmp_path / "run", callbacks=[Fills(disk, ("planes-",), 3)], **more)
    assert re.search(r"a checkpoint without planes after round 4: .*No space", result.notes[-1])
    assert checkpoint_folders(tmp_path / "run")[-1].name == "round-00000004"
    disk.full_for = ()
    again = go(tmp_path / "run", resume=True, **more | {"max_rounds": 3000})
    assert again.stop_reason == "eps"
    assert "resumed without the planes of 2 shards" in caplog.text


def test_rounds_that_the_disk_refuses_are_written_when_it_has_room(tmp_path, monkeypatch, short):
    write = os.write
    full = False

    class FillsHistory(Callback):
        def on_round(self, record):
            nonlocal full
            full = record.number == 1

    # Half a line is on the disk, of which the writer must not write the first half again.
    def half(handle, data):
        if full and len(data) > 10:
            return write(handle, data[:10])
        if full:
            raise FULL
        return write(handle, data)

    monkeypatch.setattr(os, "write", half)
    result = go(tmp_path / "run", callbacks=[FillsHistory()], **SHORT)
    monkeypatch.undo()
    assert kept_history(tmp_path / "run") == history(result) == history(short)


def test_a_model_that_the_disk_refuses_is_saved_elsewhere(tmp_path, disk, short):
    with pytest.raises(StoreError, match="No space left on device") as caught:
        go(
            tmp_path / "run",
            callbacks=[Fills(disk, (str(tmp_path / "run" / ".model"),), 1)],
            **SHORT,
        )
    kept = re.search(r"its model is in (\S+),", str(caught.value))[1]
    assert np.array_equal(load_model(kept, ToyChain).w, short.model.w)
    assert kept_history(Path(kept).parent) == history(short)
    assert read_state(tmp_path / "run").state == "failed"
    shutil.rmtree(Path(kept).parent)


SCRIPT = """
import os, sys
import numpy as np
import distsvm
from distsvm.training.run_folder import RunFolder

class Fills(distsvm.Callback):
    def on_round(self, record):
        if record.number == 2:
            with open("ballast", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
        if record.number == 5:
            os.remove("ballast")

if __name__ == "__main__":
    os.chdir(sys.argv[1])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    result = distsvm.train(
        distsvm.MulticlassTask(), (X, y), C=1e4, eps=0.0, max_rounds=8, checkpoint_rounds=2,
        solver="one-slack", executor="processes", n_workers=2, n_shards=2, run_dir="run",
        callbacks=[Fills()],
    )
    print([note.split(":")[0] for note in result.notes])
    print(sorted(os.listdir("run/checkpoints")), len(RunFolder("run").history()))
"""


def can_mount():
    words = ["unshare", "-rm", "true"]
    return shutil.which("unshare") and subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this system lets no user mount a file system")
def test_a_run_continues_on_a_disk_that_is_really_full_for_a_while(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "disk").mkdir()
    mount = f'mount -t tmpfs -o size=512k none {tmp_path}/disk && exec "$@"'
    words = ["unshare", "-rm", "sh", "-c", mount, "sh",
             sys.executable, str(tmp_path / "script.py"), str(tmp_path / "disk")]  # fmt: skip
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    noted, kept = ended.stdout.splitlines()[-2:]
    assert noted == "['no checkpoint after round 2', 'no checkpoint after round 4']"
    assert kept == "['round-00000006', 'round-00000008'] 8"
