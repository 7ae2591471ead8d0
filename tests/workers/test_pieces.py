"""Shards in pieces on disk: the same bits as in memory, packed once, and never trusted blindly."""

import logging
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_tasks import ToyChain

import distsvm
from distsvm.data import keeping, open_data
from distsvm.data.keeping import Keeping, load
from distsvm.data.packed import PackedStore, key_of
from distsvm.data.readers import parquet
from distsvm.data.readers import pieces as reader_pieces
from distsvm.data.synthetic import make_sparse_multiclass, make_tagged_sentences
from distsvm.data.writers import write_parquet, write_svmlight
from distsvm.errors import ConfigError, DataError
from distsvm.oracles.python import PythonOracle
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack
from distsvm.structures.classes import oracle as class_oracle
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences import oracle as sequence_oracle
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.workers.shard_worker import ShardWorker

MEMORY_MB = 1.0


@pytest.fixture
def small(monkeypatch):
    """Pieces of kilobytes, where they would be of megabytes, beside a process of no size."""
    monkeypatch.setattr(keeping, "PROCESS_MB", 0.0)
    monkeypatch.setattr(parquet.ParquetSpec, "reading_mb", 0.0)
    monkeypatch.setattr(keeping, "LEAST_MB", 0.0)
    for solver in (OneSlack, MultiPlane):
        monkeypatch.setattr(solver, "worker_vectors", 0)
    monkeypatch.setattr(reader_pieces, "MARK", 64)
    monkeypatch.setattr(PythonOracle, "piece", 64)
    monkeypatch.setattr(class_oracle, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(sequence_oracle, "PIECE_BYTES", 1 << 10)


def classes(folder: Path, ending: str) -> str:
    X, y = make_sparse_multiclass(3000, 40, 4, n_nonzero=5)
    path = str(folder / f"rows{ending}")
    if ending == ".parquet":
        write_parquet(path, X.toarray()[:, :20], y)
    else:
        write_svmlight(path, X, y)
    return path


def sentences(folder: Path, *_: str) -> str:
    lines = [
        "".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True))
        for pair in make_tagged_sentences(400)
    ]
    path = folder / "tags.conll"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def trees(folder: Path, *_: str) -> str:
    path = folder / "trees.mrg"
    write_treebank(path, make_treebank(260))
    return str(path)


def chains(folder: Path, *_: str) -> str:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(300):
        x = rng.integers(0, 3, 4).tolist()
        lines.append(f'{{"x": {x}, "y": {[v % 2 for v in x]}}}\n')
    path = folder / "chains.jsonl"
    path.write_text("".join(lines))
    return str(path)


CASES = {
    "svmlight": (MulticlassTask(), lambda folder: classes(folder, ".svm")),
    "parquet": (MulticlassTask(), lambda folder: classes(folder, ".parquet")),
    "sequences": (SequenceTask(), sentences),
    "trees": (ParseTask(), trees),
    "python": (ToyChain(), chains),
}


@pytest.mark.parametrize("case", CASES)
def test_a_shard_in_pieces_gives_the_same_bits_as_in_memory(small, tmp_path, caplog, case):
    caplog.set_level(logging.INFO)
    n_shards = 1 if case == "python" else 2  # its search is slow
    task, write = CASES[case]
    path = write(tmp_path)
    run = {"solver": "one-slack", "cache_size": 0, "n_shards": n_shards, "max_rounds": 3}
    whole = distsvm.train(task, path, executor="serial", run_dir=tmp_path / "whole", **run)
    run |= {"worker_memory_mb": MEMORY_MB, "cache_dir": tmp_path / "packed"}
    parts = distsvm.train(
        task, path, executor="threads", n_workers=2, run_dir=tmp_path / "parts", **run
    )
    specs = open_data(path, tables=task.tables).specs(n_shards)
    assert not [r for r in caplog.records if "do not end where sums do" in r.message]
    assert min(len(Keeping(str(tmp_path / "packed"), MEMORY_MB).pieces(spec)) for spec in specs) > 1
    assert parts.C == whole.C
    np.testing.assert_array_equal(parts.model.w, whole.model.w)
    for a, b in zip(parts.history, whole.history, strict=True):
        assert (a.primal, a.dual) == (b.primal, b.dual)
    more = distsvm.resume(
        tmp_path / "whole", max_rounds=4, worker_memory_mb=MEMORY_MB, cache_dir=tmp_path / "packed",
        task=type(task),
    )  # fmt: skip
    again = distsvm.resume(tmp_path / "parts", max_rounds=4, worker_memory_mb=None, task=type(task))
    np.testing.assert_array_equal(more.model.w, again.model.w)


@pytest.mark.parametrize(
    ("first", "second"), [(MEMORY_MB, None), (None, MEMORY_MB), (MEMORY_MB, 8.0)]
)
def test_a_run_resumed_in_other_pieces_goes_on_without_its_planes(
    small, tmp_path, caplog, first, second
):
    path, run_dir = sentences(tmp_path), tmp_path / "run"
    run = {"n_shards": 2, "n_blocks": 2, "C": 2.0, "eps": 0.1, "executor": "serial"}
    more = {"cache_dir": tmp_path / "packed"}
    begun = distsvm.train(
        SequenceTask(), path, run_dir=run_dir, max_rounds=5, worker_memory_mb=first, **run, **more
    )
    found = distsvm.resume(run_dir, max_rounds=None, worker_memory_mb=second)
    assert "resumed without the planes of 2 shards" in found.notes
    assert "other pieces" in caplog.text
    assert found.stop_reason == "eps"
    assert found.dual >= begun.dual
    whole = distsvm.train(SequenceTask(), path, **run)
    assert max(found.dual, whole.dual) <= min(found.primal, whole.primal)


def test_what_is_packed_is_mapped_and_not_read_again(tmp_path, monkeypatch):
    path = classes(tmp_path, ".svm")
    (spec,) = open_data(path).specs(1)
    store = PackedStore(str(tmp_path / "packed"))
    first = load(spec, store)
    monkeypatch.setattr(type(spec), "load", lambda self: pytest.fail("the file was read again"))
    second = load(spec, store)
    for shard in (first, second):
        base = shard.x.values
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
    for a, b in zip(first.x.arrays(), second.x.arrays(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.y, second.y)
    assert second.x.zero_based is False


@pytest.mark.parametrize("case", ["svmlight", "parquet", "sequences"])
def test_packed_examples_train_as_those_of_the_files(tmp_path, case):
    task, write = CASES[case]
    path = write(tmp_path)
    run = {"solver": "one-slack", "cache_size": 3, "n_shards": 2, "max_rounds": 3}
    plain = distsvm.train(task, path, executor="serial", **run)
    for _ in range(2):
        kept = distsvm.train(task, path, executor="serial", cache_dir=tmp_path / "packed", **run)
        np.testing.assert_array_equal(kept.model.w, plain.model.w)
    assert len(list((tmp_path / "packed").iterdir())) == 2


def test_a_changed_file_or_option_is_another_entry(tmp_path):
    path = Path(classes(tmp_path, ".svm"))
    specs = [
        open_data(str(path)).specs(1)[0], open_data(str(path), dtype="float32").specs(1)[0]
    ]  # fmt: skip
    keys = [key_of(spec) for spec in specs]
    path.write_text(path.read_text() + "1 1:5\n")
    keys += [key_of(spec) for spec in specs] + [key_of(specs[0], "task")]
    assert len(set(keys)) == 5


@pytest.mark.parametrize("damage", ["cut", "flip", "manifest", "missing"])
def test_a_damaged_entry_is_made_again_with_a_warning(tmp_path, caplog, damage):
    path = classes(tmp_path, ".svm")
    (spec,) = open_data(path).specs(1)
    store = PackedStore(str(tmp_path / "packed"))
    expected = [np.array(array) for array in load(spec, store).x.arrays()]
    (entry,) = (tmp_path / "packed").iterdir()
    (values,) = entry.glob("*values.npy")
    raw = bytearray(values.read_bytes())
    raw[-9] ^= 1
    if damage == "cut":
        values.write_bytes(bytes(raw[: len(raw) // 2]))
    elif damage == "flip":
        values.write_bytes(bytes(raw))
    elif damage == "missing":
        values.unlink()
    else:
        (entry / "manifest.json").write_text('{"kind": "distsvm packed data", "format": 1}')
    with caplog.at_level(logging.WARNING):
        found = load(spec, store).x.arrays()
    assert "is damaged and is made again" in caplog.text
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_entry_that_was_cut_short_is_never_seen(tmp_path, monkeypatch):
    path = classes(tmp_path, ".svm")
    (spec,) = open_data(path).specs(1)
    store = PackedStore(str(tmp_path / "packed"))
    with monkeypatch.context() as patch:
        patch.setattr(np, "save", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(DataError, match="packed data cannot be written"):
            load(spec, store)
    assert list((tmp_path / "packed").iterdir()) == []
    assert load(spec, store).n == 3000


def test_pieces_are_whole_multiples_of_what_is_summed_at_a_time(small, tmp_path):
    path = classes(tmp_path, ".svm")
    worker = ShardWorker(open_data(path).specs(1)[0], Keeping(str(tmp_path / "packed"), MEMORY_MB))
    task = MulticlassTask().prepare(worker.scan(MulticlassTask()))
    worker.attach(task)
    sizes = np.diff(worker.oracle._starts)
    assert sizes.size > 3
    assert (sizes[:-1] % worker.oracle.piece == 0).all()
    assert worker.oracle.n == 3000


def test_features_are_weighed_by_their_shares_of_the_whole_block(small, tmp_path):
    (spec,), task = open_data(sentences(tmp_path)).specs(1), SequenceTask()
    whole, parts = (
        ShardWorker(spec, Keeping(str(tmp_path / "packed"), mb)) for mb in (None, MEMORY_MB)
    )
    task = task.prepare(whole.scan(task))
    for worker in (whole, parts):
        worker.attach(task)
    assert parts.oracle.sizes.size > 1
    shares = parts.oracle.feature_shares()
    np.testing.assert_allclose(shares, whole.oracle.feature_shares(), rtol=1e-12)


@pytest.mark.parametrize("as_validation", [False, True])
def test_limited_memory_is_refused_for_data_in_memory(tmp_path, as_validation):
    X, y = make_sparse_multiclass(50, 10, 3, n_nonzero=2)
    path = classes(tmp_path, ".svm")
    data, more = ((path,), {"validation": (X, y)}) if as_validation else ((X, y), {})
    with pytest.raises(ConfigError, match=r"worker_memory_mb=500.0 is for .* files.*writers"):
        distsvm.train(MulticlassTask(), *data, worker_memory_mb=500, executor="serial", **more)


def test_limited_memory_is_refused_for_folds(tmp_path):
    with pytest.raises(ConfigError, match=r"cv=2 and worker_memory_mb: .*validation"):
        distsvm.path(
            MulticlassTask(), classes(tmp_path, ".svm"), Cs=[1.0], cv=2, worker_memory_mb=500
        )


def test_a_limit_that_leaves_no_room_beside_the_vectors_is_refused_with_what_is_needed(tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("".join(f"{i % 2} {i + 1}:1 10000000:1\n" for i in range(20)))
    run = {"executor": "serial", "n_shards": 2, "solver": "one-slack", "max_rounds": 1}
    run |= {"cache_dir": tmp_path / "packed", "C": 1.0}
    vectors_mb = 5 * 2 * 10_000_001 * 8 / 2**20
    needed = math.ceil(80 + vectors_mb + 40)
    with pytest.raises(ConfigError, match=f"a worker needs {needed} at least.* 5 vectors of"):
        distsvm.train(MulticlassTask(), str(path), worker_memory_mb=needed - 1, **run)
    with pytest.raises(ConfigError, match=r"worker_memory_mb=119\.0: a worker needs 120 at least"):
        distsvm.train(MulticlassTask(), str(path), worker_memory_mb=119, **run)


def test_pieces_are_smaller_beside_long_vectors(tmp_path):
    limit = Keeping(str(tmp_path), 1000.0, n_vectors=5)
    assert limit.piece_mb == 125.0
    assert replace(limit, dim=1_000_000).piece_mb == 125.0
    long = replace(limit, dim=20 * 2**17)  # 20 MB a vector, 100 MB in all
    assert replace(long, memory_mb=400.0).piece_mb == (400 - 80 - 100) / 5
    assert replace(long, memory_mb=400.0, dim=0).piece_mb == 50.0


def test_packed_data_stays_on_local_disks():
    with pytest.raises(ConfigError, match="cache_dir='s3://a/b': expected a folder on a local"):
        distsvm.train(MulticlassTask(), "a.svm", cache_dir="s3://a/b")


@pytest.mark.parametrize("solver", ["auto", "one-slack"])
def test_a_cache_of_the_one_slack_solver_is_refused_beside_limited_memory(solver):
    with pytest.raises(ConfigError, match="worker_memory_mb and cache_size=3"):
        distsvm.train(MulticlassTask(), "a.svm", worker_memory_mb=100, cache_size=3, solver=solver)
