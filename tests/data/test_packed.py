"""Packed examples: found again only for the same files, in folders that nobody else writes in."""

import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest
from loopback_files import Files, served
from toy_tasks import ToyChain

import distsvm
from distsvm.data import open_data
from distsvm.data.keeping import Keeping, load
from distsvm.data.packed import PackedStore, key_of, packed_folder
from distsvm.errors import ConfigError
from distsvm.structures.classes.task import MulticlassTask

OLD, NEW = "1 1:1\n2 2:1\n", "1 1:9\n2 2:9\n"


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def values(path, store, **options):
    (spec,) = open_data(str(path), **options).specs(1)
    return load(spec, store).x.values.tolist()


@pytest.mark.parametrize("way", ["in place", "replaced"])
def test_other_content_of_the_same_size_and_time_is_read_again(tmp_path, way):
    path, store = written(tmp_path / "a.svm", OLD), PackedStore(str(tmp_path / "packed"))
    before = os.stat(path)
    assert values(path, store) == [1, 1]
    new = path if way == "in place" else tmp_path / "new"
    written(new, NEW)
    while os.stat(new).st_ctime_ns == before.st_ctime_ns:  # the clock of files has a tick
        os.utime(new)
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(new, path)
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns
    assert values(path, store) == [9, 9]


class Tagged(Files):
    """Tells a tag of the content."""

    def end_headers(self):
        path = Path(self.translate_path(self.path))
        if path.is_file():
            self.send_header("ETag", f'"{path.read_bytes().hex()}"')
        super().end_headers()


class Untold(Files):
    """Tells nothing of a file but its size."""

    def send_header(self, keyword, value):
        if keyword != "Last-Modified":
            super().send_header(keyword, value)


@pytest.mark.parametrize("handler", [Files, Tagged, Untold])
def test_a_file_of_the_web_is_read_again_once_it_has_changed(tmp_path, handler, monkeypatch):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    (tmp_path / "web").mkdir()
    path = written(tmp_path / "web" / "a.svm", OLD)
    store = PackedStore(str(tmp_path / "packed"))
    with served(tmp_path / "web", handler) as web:
        (spec,) = open_data(f"{web}/a.svm").specs(1)
        key = key_of(spec)
        assert values(f"{web}/a.svm", store) == [1, 1]
        written(path, NEW)
        if handler is Files:  # which tells whole seconds
            os.utime(path, (1e9, 1e9))
        assert key_of(spec) != key
        assert values(f"{web}/a.svm", store) == [9, 9]
        # What is unchanged is found, also where only its bytes tell that.
        monkeypatch.setattr(type(spec), "load", lambda self: pytest.fail("was read again"))
        assert values(f"{web}/a.svm", store) == [9, 9]


def test_a_folder_of_others_is_refused(tmp_path, monkeypatch):
    path, folder = written(tmp_path / "a.svm", OLD), tmp_path / "new" / "packed"

    def train():
        distsvm.train(MulticlassTask(), path, executor="serial", max_rounds=1, cache_dir=folder)

    train()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o775)
    with pytest.raises(ConfigError, match=rf"{folder} can be written by others \(mode 775\)"):
        train()
    folder.chmod(0o755)
    train()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(ConfigError, match=rf"{folder} belongs to another user"):
        train()


def test_a_link_to_ones_own_folder_is_as_good(tmp_path):
    (tmp_path / "disk").mkdir(mode=0o700)
    os.symlink(tmp_path / "disk", tmp_path / "packed")
    store = Keeping(str(tmp_path / "packed")).store()
    assert store == PackedStore(str(tmp_path / "disk"))


def test_the_folder_among_the_temporary_files_is_no_link(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir(mode=0o700)
    os.symlink(tmp_path / "mine", tmp_path / f"distsvm-packed-{os.getuid()}")
    with pytest.raises(ConfigError, match="belongs to another user"):
        packed_folder()


CHAINS = "".join(json.dumps({"x": [i % 2, 1], "y": [i % 2, 1]}) + "\n" for i in range(20))


@pytest.mark.parametrize(
    ("task", "name", "text", "reason"),
    [
        (ToyChain(), "a.jsonl", CHAINS, "their reader gives Python objects"),
        (MulticlassTask(), None, None, "they are not in files"),
        (MulticlassTask(), "a.svm", OLD, None),
    ],
)
def test_what_is_not_kept_is_said_once_with_the_reason(tmp_path, caplog, task, name, text, reason):
    data = (np.eye(8), np.arange(8) % 2) if name is None else written(tmp_path / name, text)
    run = {"executor": "serial", "max_rounds": 1, "n_shards": 2}
    with caplog.at_level(logging.WARNING):
        distsvm.train(task, data, cache_dir=tmp_path / "packed", **run)
    told = [text for text in caplog.messages if "cache_dir does nothing" in text]
    assert len(told) == (reason is not None)
    assert reason is None or reason in told[0]
