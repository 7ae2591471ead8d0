"""Runs in stores: the same bits as on a disk, whatever the store or the driver does meanwhile."""

import json
import re
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from failing_store import ROOT, FailingStore, Fault, Killed, fsspec
from loopback_files import Files, NoRanges, buckets, served
from run_examples import StopAfter, go
from test_same_bits import history
from test_session import dead_pid
from toy_tasks import ToyChain

from distsvm import Callback, MulticlassTask, load_model, resume, stores, train
from distsvm.data.synthetic import make_multiclass, write_parts
from distsvm.errors import CheckpointError, ConfigError, ModelError, StoreError
from distsvm.report import write_report
from distsvm.storage import place, read_json
from distsvm.training import session as sessions
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.training.run_folder import RunFolder
from distsvm.training.run_state import LOCK, STATE, ask_to_stop, last_round, read_state

RUN = f"{ROOT}runs/a"
SHORT = {"n_shards": 2, "max_rounds": 4, "checkpoint_rounds": 2}


@pytest.fixture(autouse=True)
def quick_and_empty(monkeypatch):
    monkeypatch.setattr(stores, "WAITS_S", (0.0, 0.0, 0.0))
    FailingStore.begin()
    yield
    FailingStore.begin()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run on a disk that nothing happened to."""
    return go(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """As `whole`, of four rounds."""
    return go(tmp_path_factory.mktemp("short") / "run", **SHORT)


@pytest.fixture(params=["memory", "local", "file"])
def home(request, tmp_path):
    """A folder by URI."""
    if request.param != "memory":
        yield f"{request.param}://{tmp_path}/new/runs"
        return
    yield "memory://tests/runs"
    if fsspec.filesystem("memory").exists("/tests/runs"):
        fsspec.filesystem("memory").rm("/tests/runs", recursive=True)


def altered(path, **changes):
    fsspec.filesystem("failing").pipe_file(
        str(path), json.dumps(read_json(path, CheckpointError) | changes).encode()
    )


def fail(*arguments, **options):
    FailingStore.before = staticmethod(Fault(*arguments, **options))
    return FailingStore.before


def kept_history(folder):
    return history(SimpleNamespace(history=RunFolder(folder).history()))


def in_order():
    FailingStore.before = staticmethod(lambda operation, path: None)


# --- a run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("road", [{}, {"solver": "multi-plane", "max_rounds": 8}])
def test_a_run_in_a_store_is_resumed_with_the_bits_of_one_on_a_disk(home, tmp_path, road):
    road = {"eps": 0.01, "checkpoint_rounds": 3, **road}
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
    assert names == {"run.json", "data.json", "history.jsonl", "checkpoints", "result.json",
                     "model", STATE}  # fmt: skip
    assert np.array_equal(load_model(f"{home}/a/model", ToyChain).w, whole.model.w)
    assert str(write_report(f"{home}/a")) == str(folder.path / "report.html")


def test_a_finished_run_is_never_written_over_and_may_begin_another(home, whole):
    go(f"{home}/a", max_rounds=3)
    with pytest.raises(ConfigError, match=r"run_dir='.*/a' holds a run already"):
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


# --- the driver is killed ------------------------------------------------------------------


def count_of_changes():
    """How many times a short run changes its store, if nothing happens to it."""
    FailingStore.begin()
    counting = fail(10**9, Killed)
    go(RUN, **SHORT)
    FailingStore.begin()
    return counting.number


def test_a_driver_killed_at_any_change_of_its_store_is_resumed_with_the_same_bits(
    monkeypatch, short
):
    monkeypatch.setattr(sessions, "BEAT_S", 1e6)
    n_changes = count_of_changes()
    assert n_changes > 20
    n_resumed = 0
    for number in range(1, n_changes + 1):
        FailingStore.begin()
        fail(number, Killed)
        with pytest.raises(Killed):
            go(RUN, **SHORT)
        in_order()
        for name in (LOCK, STATE):
            if (place(RUN) / name).exists():
                altered(place(RUN) / name, pid=dead_pid(), born=None)
        begun = (place(RUN) / "run.json").exists()
        n_resumed += begun
        result = go(RUN, resume=begun, **SHORT)
        assert np.array_equal(result.model.w, short.model.w), number
        assert history(result) == history(short), number
        assert kept_history(RUN) == history(short), number
        assert np.array_equal(load_model(f"{RUN}/model", ToyChain).w, short.model.w)
        kept = checkpoint_folders(place(RUN))
        assert kept[-1].name == "round-00000004"
        assert list((place(RUN) / "checkpoints").iterdir()) == kept, "nothing half written is left"
        assert read_state(place(RUN)).state == "stopped"
    assert n_resumed > 10


def test_the_rounds_since_the_last_checkpoint_are_missing_after_a_kill_and_made_again(short):
    class Kills(Callback):
        def on_round(self, record):
            if record.number == 3:
                fail(1, Killed, n=10**9, counts=lambda operation, path: True)
                raise Killed

    with pytest.raises(Killed):
        go(RUN, callbacks=[Kills()], **SHORT)
    in_order()
    assert last_round(place(RUN)).number == 2
    for name in (LOCK, STATE):
        altered(place(RUN) / name, pid=dead_pid(), born=None)
    assert history(go(RUN, resume=True, **SHORT)) == history(short)
    assert last_round(place(RUN)).number == 4


# --- the store fails -----------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError, TimeoutError, RuntimeError])
def test_a_write_that_fails_now_and_then_is_tried_again(error, short):
    for number in range(1, 25, 5):
        FailingStore.begin()
        fail(number, error, n=3, counts=lambda operation, path: operation == "write")
        result = go(RUN, **SHORT)
        assert result.notes == []
        assert np.array_equal(result.model.w, short.model.w)


@pytest.mark.parametrize("broken", ["driver.npz", "planes-00001.npz", "manifest.json"])
def test_a_run_goes_on_without_the_checkpoints_that_cannot_be_written(short, broken, caplog):
    fail(1, OSError, n=4, counts=lambda operation, path:
         operation == "write" and path.endswith(f"round-00000002/{broken}"))  # fmt: skip
    result = go(RUN, **SHORT)
    assert history(result) == history(short)
    assert len(result.notes) == 1
    told = rf"no checkpoint after round 2: .*{RUN}/checkpoints/round-00000002/{broken}: cannot be"
    assert re.search(told, result.notes[0])
    assert re.search(told, caplog.text)
    assert [p.name for p in checkpoint_folders(place(RUN))] == ["round-00000004"]


def test_the_note_of_a_last_checkpoint_that_failed_is_in_the_result():
    fail(1, OSError, n=10**9, counts=lambda operation, path:
         operation == "write" and "checkpoints" in path)  # fmt: skip
    result = go(RUN, **SHORT)
    assert [note.split(":")[0] for note in result.notes] == [
        "no checkpoint after round 2", "no checkpoint after round 4",
    ]  # fmt: skip
    assert np.array_equal(load_model(f"{RUN}/model", ToyChain).w, result.model.w)


def test_a_model_that_the_store_refuses_is_saved_here(short):
    fail(1, PermissionError, n=10**9, counts=lambda operation, path:
         operation == "write" and "/model/" in path)  # fmt: skip
    with pytest.raises(StoreError, match=rf"{RUN}/model/arrays.npz: access was refused") as caught:
        go(RUN, **SHORT)
    kept = re.search(r"its model is in (\S+),", str(caught.value))[1]
    assert np.array_equal(load_model(kept, ToyChain).w, short.model.w)
    assert kept_history(kept.removesuffix("/model")) == history(short)
    assert not (place(RUN) / "model").exists()
    assert read_state(place(RUN)).state == "failed"
    in_order()
    assert np.array_equal(go(RUN, resume=True, **SHORT).model.w, short.model.w)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError, "access was refused"),
        (FileNotFoundError, "no such file, folder or bucket"),
        (ConnectionError, "cannot be written from .*ConnectionError"),
    ],
)
def test_a_store_that_cannot_be_written_is_refused_before_the_data_is_read(error, message):
    fail(1, error, n=10**9, counts=lambda operation, path: operation == "write")
    with pytest.raises(ConfigError, match=f"run_dir='{RUN}' cannot be made: {RUN}.*{message}"):
        train(ToyChain(), "/no/such/data.jsonl", run_dir=RUN)
    assert FailingStore.store == {}


def test_a_store_that_cannot_be_reached_is_an_error_with_its_uri():
    go(RUN, **SHORT)
    fail(1, ConnectionError, n=10**9, counts=lambda operation, path: True)
    for wanted in (resume, read_state, write_report):
        with pytest.raises(CheckpointError, match=rf"{RUN}.*cannot be read from .*ConnectionError"):
            wanted(RUN if wanted is not read_state else place(RUN))
    with pytest.raises(ModelError, match=rf"{RUN}/model/manifest\.json: cannot be read"):
        load_model(f"{RUN}/model")


def test_a_session_that_the_store_does_not_answer_goes_on(monkeypatch, short, caplog):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class Breaks(Callback):
        def on_start(self, start):
            fail(1, OSError, n=10**9, counts=lambda operation, path: path.endswith((LOCK, STATE)))

    assert history(go(RUN, callbacks=[Breaks()], **SHORT)) == history(short)
    assert "the end of the run cannot be told, and it will be taken for lost" in caplog.text
    in_order()
    assert read_json(place(RUN) / STATE, CheckpointError)["state"] == "running"


def test_a_store_that_fails_while_the_folder_is_taken_is_an_error():
    fail(1, OSError, n=10**9, counts=lambda operation, path:
         operation == "write" and path.endswith(STATE))  # fmt: skip
    with pytest.raises(StoreError, match=rf"{RUN}/{STATE}: cannot be written"):
        go(RUN, **SHORT)


@pytest.mark.parametrize("name", ["driver.npz", "planes-00000.npz", "manifest.json"])
def test_a_cut_object_of_a_checkpoint_is_refused_by_its_uri(name):
    go(RUN, callbacks=[StopAfter(3)], **SHORT)
    path = f"/runs/a/checkpoints/round-00000003/{name}"
    store = fsspec.filesystem("failing")
    content = store.cat_file(path)
    store.pipe_file(path, content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=rf"round-00000003/{name} is damaged"):
        go(RUN, resume=True, **SHORT)


@pytest.mark.parametrize("name", ["arrays.npz", "manifest.json"])
def test_a_cut_object_of_a_model_is_refused_by_its_uri(name):
    go(RUN, **SHORT)
    store = fsspec.filesystem("failing")
    content = store.cat_file(f"/runs/a/model/{name}")
    store.pipe_file(f"/runs/a/model/{name}", content[: len(content) // 2])
    with pytest.raises(ModelError, match=rf"{RUN}/model/{name} is damaged"):
        load_model(f"{RUN}/model", ToyChain)


def test_a_checkpoint_that_failed_is_deleted_from_its_manifest_on():
    """Or what is left of it could be taken for whole."""
    deleted = []

    def noting(operation, path):
        if operation == "delete" and "checkpoints" in path:
            deleted.append(path.rpartition("/")[2])
        if operation == "write" and path.endswith("round-00000004/planes-00001.npz"):
            raise PermissionError

    FailingStore.before = staticmethod(noting)
    assert len(go(RUN, **SHORT).notes) == 1
    # Before each of the two, and after the one that failed.
    assert deleted == ["manifest.json", "manifest.json", "manifest.json", "round-00000004"]
    assert [p.name for p in checkpoint_folders(place(RUN))] == ["round-00000002"]


def test_strange_names_beside_a_run_do_no_harm(short):
    for name in ("what?", "a*b", "[x]", "#", "checkpoints/round-0000000?"):
        fsspec.filesystem("failing").pipe_file(f"/runs/a/{name}", b"")
    assert history(go(RUN, **SHORT)) == history(short)
    assert {"what?", "a*b", "[x]", "#"} < {p.name for p in place(RUN).iterdir()}


# --- one writer ----------------------------------------------------------------------------


def test_a_run_that_goes_on_in_a_store_is_not_resumed_a_second_time(short):
    class ResumesAgain(Callback):
        def on_round(self, record):
            with pytest.raises(CheckpointError, match=rf"{RUN} is held by a run that goes on"):
                go(RUN, resume=True, **SHORT)
            assert read_state(place(RUN)).state == "running"

    assert history(go(RUN, callbacks=[ResumesAgain()], **SHORT)) == history(short)


def test_a_process_of_another_host_is_given_up_when_its_time_has_not_been_renewed():
    first = sessions.Session(place(RUN))
    first.take()
    for name in (LOCK, STATE):
        altered(place(RUN) / name, host="elsewhere")
    with pytest.raises(CheckpointError, match=r"on elsewhere, last sign of it \d+ s ago"):
        sessions.Session(place(RUN)).take()
    altered(place(RUN) / STATE, seen=time.time() - 61)
    other = sessions.Session(place(RUN))
    other.take()
    first.end()  # it finds the other's lock, and leaves all as it is
    for name in (LOCK, STATE):
        assert read_json(place(RUN) / name, CheckpointError)["token"] == other._me.token
    other.end()
    assert not (place(RUN) / LOCK).exists()


def test_who_was_believed_gone_writes_nothing_more_to_the_store(monkeypatch):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class TakenOver(Callback):
        def on_round(self, record):
            altered(place(RUN) / LOCK, token="another", host="elsewhere")
            for thread in threading.enumerate():
                if thread.name == "distsvm-session":
                    thread.join(60)  # it ends when it finds the other's lock

    with pytest.raises(CheckpointError, match=rf"{RUN} was taken over by another process"):
        go(RUN, callbacks=[TakenOver()], n_shards=2, checkpoint_rounds=100)
    assert checkpoint_folders(place(RUN)) == []
    assert read_json(place(RUN) / LOCK, CheckpointError)["host"] == "elsewhere"


def test_a_request_to_stop_in_a_store_ends_the_run_after_its_round(monkeypatch):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class Asks(Callback):
        def on_round(self, record):
            ask_to_stop(place(RUN))

    result = go(RUN, callbacks=[Asks()], eps=0.0, C=1e6, stabilise=1.0)
    assert result.stop_reason == "interrupted"
    assert not (place(RUN) / "stop").exists()


def test_an_answer_of_another_kind_than_exists_does_not_take_anothers_lock():
    """Some stores refuse an exclusive write in words of their own, when there is a file."""
    lock = place(RUN) / LOCK
    fail(1, ValueError, counts=lambda operation, path: operation == "write")
    assert lock.create(b"mine")
    assert not lock.create(b"another's")
    assert lock.open().read() == b"mine"


# --- other places --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("s3://me:hidden@bucket/a", "a URI with a password in it"),
        ("memory://runs/a?token=hidden", r"^memory://runs/a: the URI of a run or model is without"),
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
    with pytest.raises(ModelError, match="holds something else than a model"):
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
        with pytest.raises(ConfigError, match=rf"run_dir='{web}/new' .*: the web is only read"):
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
        names = [p.name for p in checkpoint_folders(place(run))]
        assert names == ["round-00000003", "round-00000004"]
        assert not (place(run) / LOCK).exists()
        with pytest.raises(ConfigError, match=r"s3://nobody/a.*: no such file, folder or bucket"):
            go("s3://nobody/a", **SHORT)
        assert not store.exists("nobody")
