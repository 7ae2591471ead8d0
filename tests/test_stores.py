"""A place in a store tells of itself what a path of a disk does."""

import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm import storage, stores
from distsvm.errors import CheckpointError, ConfigError, StoreError, renamed
from distsvm.storage import (
    is_whole,
    place,
    read_arrays,
    read_json,
    remove_folder,
    write_arrays,
    write_bytes,
    write_json,
    written_aside,
)

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

NAMES = st.text("ab.é_-", min_size=1, max_size=3).filter(lambda name: set(name) != {"."})


@given(files=st.dictionaries(st.tuples(NAMES, NAMES), st.binary(max_size=20), max_size=5))
def test_a_folder_looks_the_same_by_path_and_by_uri(tmp_path_factory, files):
    home = tmp_path_factory.mktemp("home")
    there = place(f"local://{home}/")
    for (folder, name), content in files.items():
        write_bytes(there / folder / name, content)
    for folder in {folder for folder, _ in files} | {"none"}:
        here, other = home / folder, there / folder
        assert (other.exists(), other.is_dir(), other.is_file()) == (
            here.exists(), here.is_dir(), here.is_file(),
        )  # fmt: skip
    for (folder, name), content in files.items():
        here, other = home / folder / name, there / folder / name
        assert other.open().read() == here.read_bytes() == content
        assert other.stat().st_size == here.stat().st_size
        assert other.stat().st_mtime == here.stat().st_mtime
        assert (other.name, other.parent.name) == (here.name, here.parent.name)
        assert other.parts[-3:] == here.parts[-3:]
        assert {p.name for p in other.parent.iterdir()} == {p.name for p in here.parent.iterdir()}
        other.unlink()
        other.unlink(missing_ok=True)
        assert not here.exists()
        with pytest.raises(FileNotFoundError):
            other.unlink()


def test_file_uris_are_paths_and_others_are_places(tmp_path):
    assert place(f"file://{tmp_path}/a") == place(tmp_path / "a") == tmp_path / "a"
    assert str(place("memory://a/b/")) == "memory://a/b"
    assert place("memory://a") / "b" == place("memory://a/b")
    assert place(place("memory://a")) == place("memory://a")
    assert hash(place("memory://a")) == hash(place("memory://a/"))
    with pytest.raises(ConfigError, match="a URI with a query in it"):
        place("s3://a b?x=1")


def test_a_folder_in_a_store_is_there_with_its_manifest_and_not_before():
    folder = place("memory://whole/a")
    for _ in range(2):  # the second takes the first one's place
        with written_aside(folder) as aside:
            assert not is_whole(folder)
            write_bytes(aside / "more", b"x")
            write_json(aside / "manifest.json", {})
        assert is_whole(folder)
    with suppress(KeyError), written_aside(folder) as aside:
        write_bytes(aside / "more", b"y")
        raise KeyError
    assert not folder.exists()
    remove_folder(folder)  # there is nothing, which is no mistake
    place("memory://whole").remove()


def test_a_large_object_is_not_fetched_to_be_read_as_json(monkeypatch):
    monkeypatch.setattr(storage, "MAX_JSON_BYTES", 10)
    path = place("memory://large.json")
    write_json(path, "0123456789")
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "cat_file", None)
    with pytest.raises(CheckpointError, match=r"memory://large\.json is damaged: it has 13 bytes"):
        read_json(path, CheckpointError)
    path.unlink()


def test_an_object_that_does_not_fit_in_memory_is_read_from_a_copy(monkeypatch):
    monkeypatch.setattr(stores, "IN_MEMORY", 1)
    path = place("memory://arrays.npz")
    digest = write_arrays(path, {"a": np.arange(5)})
    assert read_arrays(path, CheckpointError, digest)["a"].tolist() == [0, 1, 2, 3, 4]
    path.unlink()


def test_errors_of_stores_pass_through_executors_as_they_are():
    error = renamed(StoreError("s3://b: no"), "shard 3")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (StoreError, "shard 3: s3://b: no")
    assert isinstance(again, OSError)
    assert isinstance(again, CheckpointError)
