"""Runs in stores: the same bits as on a disk, from every kind of store."""

import numpy as np
import pytest
from failing_store import ROOT, FailingStore, fsspec
from loopback_files import Files, NoRanges, buckets, served
from run_examples import SHORT, StopAfter, go, history, kept_history
from toy_tasks import ToyChain

from distsvm import MulticlassTask, load_model, resume, train
from distsvm.data.synthetic import make_multiclass, write_parts
from distsvm.errors import ConfigError, ModelError
from distsvm.report import write_report
from distsvm.storage import place
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.training.run_folder import RunFolder
from distsvm.training.run_state import LOCK, STATE, last_round, read_state

pytestmark = pytest.mark.usefixtures("empty_store")


# --- a run -------------------------------------------------------------------------------


@pytest.mark.parametrize("road", [{}, {"solver": "multi-plane", "max_rounds": 8}])
def test_a_run_in_a_store_is_resumed_with_the_bits_of_one_on_a_disk(home, tmp_path, road):
    road = {"eps": 0.01, "checkpoint_rounds": 3, "checkpoint_share": 1, **road}
    whole = go(tmp_path / "whole", **road)
    go(f"{home}/a", callbacks=[StopAfter(4)], **road)
    assert read_state(place(f"{home}/a")).state == "stopped"
    assert last_round(place(f"{home}/a")).number == 4
    result = go(f"{home}/a", resume=True, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)
    assert result.notes == []
    folder = RunFolder(f"{home}/a")
    assert [r.as_dict() for r in folder.history()] == [r.as_dict() for r in result.history]
    assert len(checkpoint_folders(folder.path)) == 2
    assert read_state(folder.path).stop_reason == result.stop_reason == whole.stop_reason
    names = {p.name for p in folder.path.iterdir()}
    own = {"support.npz"} if road.get("solver") == "multi-plane" else set()
    assert names == own | {"run.json", "data.json", "history.jsonl", "checkpoints", "result.json",
                           "model", STATE}  # fmt: skip
    assert np.array_equal(load_model(f"{home}/a/model", ToyChain).w, whole.model.w)
    assert str(write_report(f"{home}/a")) == str(folder.path / "report.html")


def test_a_finished_run_is_never_written_over_and_may_begin_another(home, whole):
    go(f"{home}/a", max_rounds=3)
    with pytest.raises(ConfigError, match=r"run_dir='.*/a' has a run already"):
        go(f"{home}/a")
    result = go(f"{home}/b", start=f"{home}/a")
    assert result.gap <= whole.C * 1e-4
    assert not place(f"{home}/c").exists()


def test_workers_write_their_planes_to_the_store_and_read_them_back(tmp_path, whole):
    place = {"executor": "processes", "n_workers": 2}
    go(f"local://{tmp_path}/a", callbacks=[StopAfter(5)], **place)
    result = go(f"local://{tmp_path}/a", resume=True, **place)
    assert history(result) == history(whole)
    assert np.array_equal(result.model.w, whole.model.w)


@pytest.mark.ray
def test_actors_write_their_planes_to_the_store_and_read_them_back(tmp_path, ray_session, whole):
    place = {"executor": "ray", "n_workers": 2}
    go(f"local://{tmp_path}/a", callbacks=[StopAfter(5)], **place)
    result = go(f"local://{tmp_path}/a", resume=True, **place)
    assert history(result) == history(whole)


def test_data_and_run_may_both_be_in_stores(home, tmp_path):
    X, y = make_multiclass(60, 4, 3)
    write_parts(tmp_path / "data", X, y, 2)
    config = {"C": 10.0, "eps": 1e-3, "executor": "serial", "n_shards": 2}
    whole = train(MulticlassTask(), str(tmp_path / "data"), **config)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "data"), "/tests/data", recursive=True)
    train(MulticlassTask(), "memory://tests/data", run_dir=f"{home}/a", max_rounds=2, **config)
    result = resume(f"{home}/a", max_rounds=None)
    assert result.stop_reason == "eps"
    memory.rm("/tests/data", recursive=True)
    assert np.array_equal(result.model.w, whole.model.w)


def test_a_memory_that_workers_cannot_see_is_refused():
    with pytest.raises(ConfigError, match="memory:// is for executors serial and threads; workers"):
        go("memory://tests/a", executor="processes", n_workers=2)


# --- other places ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("s3://me:hidden@bucket/a", "a URI with a password in it"),
        ("memory://runs/a?token=hidden", "a URI with a query in it"),
        ("memory://runs/a?hidden", r"^memory://runs/a: the URI of a run or model must not"),
        ("simplecache::s3://bucket/a", "expected a path, or one URI"),
        ("nowhere://bucket/a", "nowhere://bucket/a: "),
    ],
)
def test_what_is_no_uri_of_a_folder_is_refused_and_secrets_are_not_shown(
    uri, message, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    for wanted in (go, resume, load_model, write_report):
        with pytest.raises(ConfigError, match=message) as caught:
            wanted(uri)
        assert "hidden" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_model_is_replaced_in_a_store_and_nothing_else_is(whole):
    whole.model.save(f"{ROOT}m")
    whole.model.save(f"{ROOT}m")
    (place(ROOT + "m") / "manifest.json").unlink()  # as if killed before it was written
    whole.model.save(f"{ROOT}m")
    assert np.array_equal(load_model(f"{ROOT}m", ToyChain).w, whole.model.w)
    (place(ROOT + "other") / "thesis.txt").write(b"years of work")
    with pytest.raises(ModelError, match="has something other than a model"):
        whole.model.save(f"{ROOT}other")
    with pytest.raises(ModelError, match="is a file"):
        whole.model.save(f"{ROOT}other/thesis.txt")
    assert FailingStore.store["/other/thesis.txt"].getvalue() == b"years of work"


@pytest.mark.parametrize("ranges", [True, False])
def test_a_finished_run_is_read_from_the_web_which_takes_no_run(tmp_path, short, ranges):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    go(tmp_path / "run", **SHORT)
    with served(tmp_path, Files if ranges else NoRanges) as web:
        assert np.array_equal(load_model(f"{web}/run/model", ToyChain).w, short.model.w)
        assert kept_history(f"{web}/run") == history(short)
        with pytest.raises(ModelError, match=rf"{web}/none/manifest\.json does not exist"):
            load_model(f"{web}/none")
        with pytest.raises(
            ConfigError, match=rf"run_dir='{web}/new' .*: files on the web can only"
        ):
            go(f"{web}/new")


def test_a_bucket_takes_runs_as_a_disk_does(short):
    run, where = "s3://home/runs/a", {"executor": "processes", "n_workers": 2}
    with buckets() as store:
        store.mkdir("home")
        go(run, callbacks=[StopAfter(3)], **where, **SHORT)
        assert read_state(place(run)).state == "stopped"
        result = go(run, resume=True, **where, **SHORT)
        assert (history(result), result.notes) == (history(short), [])
        assert np.array_equal(load_model(f"{run}/model", ToyChain).w, short.model.w)
        # The last round had to certify: no checkpoint holds it.
        names = [p.name for p in checkpoint_folders(place(run))]
        assert names == [
            "round-00000002",
            "round-00000003",
        ]
        assert not (place(run) / LOCK).exists()
        with pytest.raises(ConfigError, match=r"s3://nobody/a.*: no such file, folder or bucket"):
            go("s3://nobody/a", **SHORT)
        assert not store.exists("nobody")
