"""Files by URI: the same examples from disks, memory, the web and object stores."""

import bz2
import gzip
import lzma
import subprocess
import sys

import numpy as np
import pytest
from loopback_files import NoRanges, buckets, served

import distsvm
from distsvm.data import open_data
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.writers import write_parts
from distsvm.errors import ConfigError, DataError
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.trees.synthetic import make_treebank, write_treebank

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


def texts_of(data, n_shards=3):
    """Everything that the shards of a data set hold, as text."""
    found = []
    for spec in data.specs(n_shards):
        shard = spec.load()
        rows = shard.x.arrays() if hasattr(shard.x, "arrays") else shard.x
        found.append((repr(rows), repr(getattr(shard.y, "codes", shard.y)), shard.n))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every format."""
    folder = tmp_path_factory.mktemp("files")
    X, y = make_multiclass(400, 5, 3)
    write_parts(folder / "svmlight", X, y, 3)
    write_parts(folder / "parquet", X, y, 3, "parquet")
    rows = "".join(f'{{"x": {x}, "y": {c}}}\n' for x, c in zip(X.tolist(), y.tolist(), strict=True))
    (folder / "rows.jsonl").write_text(rows)
    sentences = make_tagged_sentences(40)
    lines = ["".join(f"{w} {t}\n" for w, t in zip(*pair, strict=True)) for pair in sentences]
    (folder / "tags.conll").write_text("\n".join(lines))
    (folder / "trees").mkdir()
    write_treebank(folder / "trees" / "a.mrg", make_treebank(20))
    text = (folder / "svmlight" / "part-00000.svm").read_bytes()
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        (folder / f"packed.svm{ending}").write_bytes(pack(text))
    return folder


@pytest.fixture(scope="module")
def web(folder):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    with served(folder) as address:
        yield address


@pytest.fixture
def memory(folder):
    store = fsspec.filesystem("memory")
    store.put(str(folder), "/files", recursive=True)
    yield "memory:///files"
    store.rm("/files", recursive=True)


NAMES = [
    "svmlight", "svmlight/*.svm", "parquet/part-0000[12].parquet", "rows.jsonl", "tags.conll",
    "trees", "packed.svm.gz", "packed.svm.bz2", "packed.svm.xz",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_same_files_give_the_same_shards_from_everywhere(folder, web, memory, name):
    expected = texts_of(open_data(str(folder / name), tables=name != "tags.conll"))
    slash = "/" if (folder / name).is_dir() else ""
    for place in (f"file://{folder}", memory, web):
        found = open_data(f"{place}/{name}{slash}", tables=name != "tags.conll")
        assert texts_of(found) == expected


def test_a_list_may_mix_places(folder, web, memory):
    names = ["part-00000.svm", "part-00001.svm", "part-00002.svm"]
    mixed = [f"{place}/svmlight/{name}" for place, name in zip((folder, memory, web), names)]  # noqa: B905
    assert texts_of(open_data(mixed)) == texts_of(open_data(str(folder / "svmlight")))


def test_memory_trains_on_threads_and_is_refused_by_processes(memory, folder):
    run = {"C": 10.0, "max_rounds": 3, "n_shards": 4, "n_workers": 2}
    there = distsvm.train(MulticlassTask(), f"{memory}/svmlight", executor="threads", **run)
    here = distsvm.train(MulticlassTask(), str(folder / "svmlight"), executor="threads", **run)
    np.testing.assert_array_equal(there.model.w, here.model.w)
    with pytest.raises(DataError, match="memory:// is for executors serial and threads"):
        distsvm.train(MulticlassTask(), f"{memory}/svmlight", executor="processes", **run)


def test_processes_read_the_web_and_a_run_is_resumed(web, folder, tmp_path):
    run = {"C": 10.0, "eps": 1e-3, "max_rounds": 3, "n_shards": 4}
    place = {"executor": "processes", "n_workers": 2, "run_dir": tmp_path / "r"}
    there = distsvm.train(MulticlassTask(), f"{web}/svmlight/", **run, **place)
    here = distsvm.train(MulticlassTask(), str(folder / "svmlight"), **run, executor="serial")
    np.testing.assert_array_equal(there.model.w, here.model.w)
    more = distsvm.resume(tmp_path / "r", max_rounds=4, executor="serial", n_workers=1)
    assert more.n_rounds == 4


def test_what_is_not_there_is_refused_with_its_uri(web, memory):
    for uri in (f"{web}/none.svm", f"{web}/none/", f"{memory}/none.svm"):
        with pytest.raises(DataError, match=uri):
            open_data(uri)
    with pytest.raises(DataError, match="no file matches this pattern"):
        open_data(f"{memory}/*.none", format="svmlight")
    with pytest.raises(DataError, match=r"127\.0\.0\.1:1"):
        open_data("http://127.0.0.1:1/a.svm")


def test_a_server_without_ranges_is_refused(folder):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    with (
        served(folder, NoRanges) as address,
        pytest.raises(DataError, match=r"rows\.jsonl: the server does not send parts of files"),
    ):
        open_data(f"{address}/rows.jsonl").specs(2)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_a_truncated_packed_file_is_refused(folder, tmp_path, ending):
    whole = (folder / f"packed.svm.{ending}").read_bytes()
    path = tmp_path / f"cut.svm.{ending}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=rf"cut\.svm\.{ending}: truncated or damaged"):
        [spec.load() for spec in open_data(str(path)).specs(1)]
    path.write_bytes(b"nothing of the kind\n" * 9)
    with pytest.raises(DataError, match="truncated or damaged"):
        [spec.load() for spec in open_data(str(path)).specs(1)]


def test_two_formats_and_passwords_are_refused(memory):
    with pytest.raises(DataError, match="files of two formats"):
        open_data([f"{memory}/rows.jsonl", f"{memory}/packed.svm.gz"])
    with pytest.raises(ConfigError, match="a password in it") as caught:
        open_data("http://me:hidden@localhost/a.svm")
    assert "hidden" not in str(caught.value)
    with pytest.raises(ConfigError, match="nowhere://a"):
        open_data("nowhere://a.svm")


def test_without_fsspec_the_extra_is_named():
    code = (
        "import sys; sys.modules['fsspec'] = None\n"
        "from distsvm.data import open_data\n"
        "try: open_data('s3://bucket/a.svm')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("ConfigError s3://bucket/a.svm")
    assert 'pip install "distsvm[remote]"' in run.stdout


def test_buckets_are_read_as_folders_are(folder):
    with buckets() as store:
        store.mkdir("bucket")
        store.put(str(folder / "svmlight"), "bucket/a", recursive=True)
        store.put(str(folder / "parquet"), "bucket/b", recursive=True)
        for name, there in (("svmlight", "a"), ("parquet", "b/*.parquet")):
            expected = texts_of(open_data(str(folder / name)))
            assert texts_of(open_data(f"s3://bucket/{there}")) == expected
        for missing in ("s3://bucket/none.svm", "s3://nobody/a.svm"):
            with pytest.raises(DataError, match=f"{missing}: no such file, folder or bucket"):
                open_data(missing)
