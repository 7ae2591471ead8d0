"""A run knows its files: what has changed since it was begun is refused by name."""

import json
import logging
import os
from pathlib import Path

import pytest

import distsvm
from distsvm.data.synthetic import make_multiclass
from distsvm.data.writers import write_parts
from distsvm.errors import CheckpointError
from distsvm.structures.classes.task import MulticlassTask


@pytest.fixture
def run(tmp_path):
    """A run on three files, with a fourth for validation, that can go on."""
    X, y = make_multiclass(120, 3, 3)
    paths = write_parts(tmp_path / "data", X, y, 4)
    distsvm.train(
        MulticlassTask(), paths[:3], validation=paths[3], C=10.0, max_rounds=2, n_shards=3,
        executor="serial", run_dir=tmp_path / "run", patience=99,
    )  # fmt: skip
    return tmp_path / "run", paths


def rewritten(path, old, new):
    """The text with something else in it, as long as it was, and written later."""
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    assert len(old) == len(new)
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")
    later = os.stat(path).st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


def test_the_manifest_holds_files_shards_and_digests(run):
    folder, paths = run
    data = json.loads((folder / "data.json").read_text())
    assert list(data["files"]) == paths
    assert data["files"][paths[0]] == [
        os.path.getsize(paths[0]), f"mtime={os.stat(paths[0]).st_mtime_ns}"
    ]  # fmt: skip
    assert {path for parts in data["shards"] for path, _, _ in parts} == set(paths)
    assert len(data["digests"]) == len(data["shards"])
    assert all(data["digests"])


def test_an_unchanged_run_resumes_even_if_a_file_was_touched(run, caplog):
    folder, paths = run
    later = os.stat(paths[1]).st_mtime_ns + 10**9
    os.utime(paths[1], ns=(later, later))
    with caplog.at_level(logging.WARNING):
        assert distsvm.resume(folder, max_rounds=3).n_rounds == 3
    assert f"{paths[1]} was written again" in caplog.text


@pytest.mark.parametrize("number", [1, 3])
def test_a_longer_file_is_refused_before_it_is_read(run, number):
    folder, paths = run
    with open(paths[number], "a", encoding="utf-8") as file:
        file.write("not an example at all\n")
    with pytest.raises(CheckpointError, match=rf"{paths[number]} has changed .* bytes then"):
        distsvm.resume(folder, max_rounds=3)


@pytest.mark.parametrize("number", [1, 3])
def test_other_examples_in_as_many_bytes_are_refused_by_their_file(run, number):
    folder, paths = run
    label = Path(paths[number]).read_text(encoding="utf-8").split()[0]
    rewritten(paths[number], f"{label} ", f"{(int(label) + 1) % 3} ")
    with pytest.raises(CheckpointError, match=rf"^{paths[number]} has changed .* other examples"):
        distsvm.resume(folder, max_rounds=3)


def test_a_file_too_many_is_named(run, tmp_path):
    folder, _ = run
    run_json = json.loads((folder / "run.json").read_text())
    run_json["data"]["paths"] = [str(tmp_path / "data")]
    (folder / "run.json").write_text(json.dumps(run_json))
    extra = tmp_path / "data" / "part-00009.svm"
    extra.write_text("0 1:1\n")
    with pytest.raises(CheckpointError, match=f"was begun without {extra}"):
        distsvm.resume(folder, max_rounds=3)
