"""Which files are meant: every one once, those of folders in folders too."""

import json
import os
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentence_rows import sentences_of
from svmlight_files import rows_of

from distsvm.data import open_data
from distsvm.data.files import find_files, whole_path
from distsvm.data.readers.lines import Part, joined_parts
from distsvm.errors import DataError
from distsvm.storage import place

WRITERS = {
    "svmlight": lambda i: f"{i} 1:{i}\n",
    "conll": lambda i: f"a T{i}\nb T{i}\n\n",
    "jsonl": lambda i: json.dumps({"x": [i], "y": i}) + "\n",
    "treebank": lambda i: f"(S (NN word{i})\n (VB runs))\n",
}


def numbers_of(kind, shard):
    """The numbers that the writers gave to the shard's examples."""
    if kind == "svmlight":
        return [int(label) for label, _, _ in rows_of([shard])]
    if kind == "conll":
        return [int(sentence[0][0].removeprefix("T")) for sentence in sentences_of([shard])]
    if kind == "jsonl":
        return list(shard.y)
    return [int(sentence[0][0].removeprefix("word")) for sentence in shard.x]


@pytest.mark.parametrize("kind", WRITERS)
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 20))
def test_every_example_is_in_exactly_one_shard(tmp_path, kind, sizes, n_shards):
    numbers, paths = count(), []
    for i, size in enumerate(sizes):
        text = "".join(WRITERS[kind](next(numbers)) for _ in range(size))
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text(text, encoding="utf-8")
    tables = kind == "svmlight"
    shards = [s.load() for s in open_data(paths, format=kind, tables=tables).specs(n_shards)]
    found = [number for shard in shards for number in numbers_of(kind, shard)]
    assert found == list(range(sum(sizes)))
    assert len(shards) == min(n_shards, sum(sizes))
    with pytest.raises(DataError, match=r"0\.txt is given twice"):
        open_data([*paths, paths[0]], format=kind, tables=tables)


def test_parts_are_joined_only_where_they_touch():
    parts = [Part("a", 0, 5), Part("a", 5, 9), Part("a", 12, 15), Part("b", 15, 20)]
    assert joined_parts(parts) == (Part("a", 0, 9), *parts[2:])
    whole = Part("c.gz", 0, None)
    assert joined_parts([whole, whole]) == (whole, whole)


@pytest.fixture
def nested(tmp_path):
    """A folder with folders, of which some things are hidden."""
    folder = tmp_path / "data"
    names = ["b.svm", "a/2.svm", "a/10.svm", "c/d/e.svm", "a-b.svm", "_SUCCESS", "a/.crc",
             ".git/x.svm", "_old/y.svm", "c/_tmp/z.svm"]  # fmt: skip
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1 1:1\n2 2:1\n", encoding="utf-8")
    return folder


MEANT = ["a/10.svm", "a/2.svm", "a-b.svm", "b.svm", "c/d/e.svm"]


def test_a_folder_means_the_files_of_its_folders_too(nested):
    assert find_files(nested) == [str(nested / name) for name in MEANT]
    assert sum(spec.load().n for spec in open_data(nested).specs(3)) == 10
    shown = [*MEANT, "_old/y.svm", "c/_tmp/z.svm"]  # by a pattern, only a dot hides
    assert find_files(f"{nested}/**/*.svm") == sorted(str(nested / name) for name in shown)


def test_a_folder_elsewhere_means_the_same(nested):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store = fsspec.filesystem("memory")
    store.put(str(nested), "/nested", recursive=True)
    try:
        for uri in ("memory://nested", "memory:///nested/"):
            assert find_files(uri) == [f"memory:///nested/{name}" for name in MEANT]
    finally:
        store.rm("/nested", recursive=True)


def test_links_between_folders_are_followed_but_never_in_circles(nested, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "f.svm").write_text("1 1:1\n", encoding="utf-8")
    os.symlink(tmp_path / "more", nested / "linked")
    os.symlink(nested, nested / "c" / "up")
    expected = [str(nested / name) for name in (*MEANT, "linked/f.svm")]
    assert find_files(nested) == expected


def test_a_file_that_is_meant_twice_is_refused_by_what_means_it(nested):
    b = str(nested / "b.svm")
    with pytest.raises(DataError, match=rf"{b} is given twice: by {nested} and by {b}"):
        find_files([nested, b])
    with pytest.raises(DataError, match=r"b\.svm is given twice"):
        find_files([b, f"{nested}/[ab].svm"])
    os.symlink(b, nested / "z.svm")
    with pytest.raises(DataError, match=r"z\.svm is given twice: by .*, as .*b\.svm, and by"):
        find_files(nested)


def test_the_host_of_a_file_uri_may_be_localhost(tmp_path):
    for uri in (
        f"file://{tmp_path}/x",
        f"file://localhost{tmp_path}/x",
        f"FILE://LOCALHOST{tmp_path}/x",
    ):
        assert whole_path(uri) == f"{tmp_path}/x"
        assert str(place(uri)) == f"{tmp_path}/x"
