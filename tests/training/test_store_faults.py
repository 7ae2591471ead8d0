"""A run in a store whose driver is killed, or whose store fails, loses nothing."""

import re

import numpy as np
import pytest
from failing_store import RUN, FailingStore, Killed, altered, fail, fsspec, in_order
from run_examples import SHORT, StopAfter, go, history, kept_history
from test_session import dead_pid
from toy_tasks import ToyChain

from distsvm import Callback, load_model, resume, train
from distsvm.errors import CheckpointError, ConfigError, ModelError, StoreError
from distsvm.report import write_report
from distsvm.storage import place, read_json
from distsvm.training import session as sessions
from distsvm.training.checkpoint import checkpoint_folders
from distsvm.training.run_state import LOCK, STATE, last_round, read_state

pytestmark = pytest.mark.usefixtures("empty_store")


# --- the driver is killed ----------------------------------------------------------------


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
        assert kept[-1].name == "round-00000003"  # round 4 had to certify
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


# --- the store fails ---------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError, TimeoutError, RuntimeError])
def test_a_write_that_fails_now_and_then_is_tried_again(error, short):
    for number in range(1, 25, 5):
        FailingStore.begin()
        fail(number, error, n=3, counts=lambda operation, path: operation == "write")
        result = go(RUN, **SHORT)
        assert result.notes == []
        assert np.array_equal(result.model.w, short.model.w)


@pytest.mark.parametrize("broken", ["driver.npz", "planes-00001.npz", "manifest.json"])
def test_a_run_continues_without_the_checkpoints_that_cannot_be_written(short, broken, caplog):
    fail(1, OSError, n=4, counts=lambda operation, path:
         operation == "write" and path.endswith(f"round-00000002/{broken}"))  # fmt: skip
    result = go(RUN, **SHORT)
    assert history(result) == history(short)
    assert len(result.notes) == 1
    told = rf"no checkpoint after round 2: .*{RUN}/checkpoints/round-00000002/{broken}: cannot be"
    assert re.search(told, result.notes[0])
    assert re.search(told, caplog.text)
    assert [p.name for p in checkpoint_folders(place(RUN))] == ["round-00000003"]


def test_the_note_of_a_last_checkpoint_that_failed_is_in_the_result():
    fail(1, OSError, n=10**9, counts=lambda operation, path:
         operation == "write" and "checkpoints" in path)  # fmt: skip
    result = go(RUN, **SHORT)
    assert [note.split(":")[0] for note in result.notes] == [
        "no checkpoint after round 2", "no checkpoint after round 3",
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
    with pytest.raises(ModelError, match=rf"{RUN}/model/run\.json: cannot be read"):
        load_model(f"{RUN}/model")


def test_a_session_continues_when_the_store_does_not_answer(monkeypatch, short, caplog):
    monkeypatch.setattr(sessions, "BEAT_S", 0.001)

    class Breaks(Callback):
        def on_start(self, start):
            fail(1, OSError, n=10**9, counts=lambda operation, path: path.endswith((LOCK, STATE)))

    assert history(go(RUN, callbacks=[Breaks()], **SHORT)) == history(short)
    assert "the end of the run cannot be written, so it will count as lost" in caplog.text
    in_order()
    assert read_json(place(RUN) / STATE, CheckpointError)["state"] == "running"


def test_a_store_that_fails_while_the_folder_is_taken_is_an_error():
    fail(1, OSError, n=10**9, counts=lambda operation, path:
         operation == "write" and path.endswith(STATE))  # fmt: skip
    with pytest.raises(StoreError, match=rf"{RUN}/{STATE}: cannot be written"):
        go(RUN, **SHORT)


@pytest.mark.parametrize("name", ["driver.npz", "planes-00000.npz", "manifest.json"])
def test_a_cut_object_of_a_checkpoint_is_refused_by_its_uri(name):
    go(RUN, callbacks=[StopAfter(3)], keep_checkpoints=1, **SHORT)
    path = f"/runs/a/checkpoints/round-00000003/{name}"
    store = fsspec.filesystem("failing")
    content = store.cat_file(path)
    store.pipe_file(path, content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=rf"round-00000003/{name} is damaged"):
        go(RUN, resume=True, keep_checkpoints=1, **SHORT)


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
        if operation == "write" and path.endswith("round-00000003/planes-00001.npz"):
            raise PermissionError

    FailingStore.before = staticmethod(noting)
    assert len(go(RUN, **SHORT).notes) == 1
    # Before each of the two, after the one that failed, and before the same without planes.
    assert deleted == ["manifest.json"] * 3 + ["round-00000003", "manifest.json"]
    assert [p.name for p in checkpoint_folders(place(RUN))] == ["round-00000002", "round-00000003"]


def test_strange_names_beside_a_run_do_no_harm(short):
    for name in ("what?", "a*b", "[x]", "#", "checkpoints/round-0000000?"):
        fsspec.filesystem("failing").pipe_file(f"/runs/a/{name}", b"")
    assert history(go(RUN, **SHORT)) == history(short)
    assert {"what?", "a*b", "[x]", "#"} < {p.name for p in place(RUN).iterdir()}
