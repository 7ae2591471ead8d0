"""A resumed run has the bits of one never stopped, or at least its optimum."""

import json
import shutil

import numpy as np
import pytest
from run_examples import StopAfter, go, history, latest_checkpoint
from toy_tasks import ToyChain

from distsvm import Callback, MulticlassTask, resume, train
from distsvm.data.synthetic import make_multiclass, write_parts
from distsvm.errors import CheckpointError, ConfigError
from distsvm.training import loaded
from distsvm.training.run_folder import RunFolder


@pytest.mark.parametrize("cut", [1, 2, 7, 20])
@pytest.mark.parametrize(
    "road",
    [
        {},
        {"refresh_fraction": 0.3},
        {"cache_size": 0},
        {"n_blocks": 2},
        {"solver": "multi-plane"},
        {"solver": "multi-plane", "ask_share": 1.0, "rescaling": "slack"},
    ],
)
def test_a_resumed_run_has_the_bits_of_one_never_stopped(tmp_path, cut, road):
    whole = go(tmp_path / "whole", **road)
    part = go(tmp_path / "part", callbacks=[StopAfter(cut)], **road)
    assert part.stop_reason == "interrupted"
    assert part.n_rounds == cut
    result = go(tmp_path / "part", resume=True, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)
    assert [r.as_dict() for r in RunFolder(tmp_path / "part").history()] == [
        r.as_dict() for r in result.history
    ]


def test_a_run_may_be_resumed_with_another_executor_and_another_limit(tmp_path):
    whole = go(tmp_path / "whole")
    go(tmp_path / "part", max_rounds=5)
    result = go(tmp_path / "part", resume=True, executor="threads", n_workers=2)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


def test_a_finished_run_resumed_is_finished(tmp_path):
    first = go(tmp_path / "run")
    again = go(tmp_path / "run", resume=True)
    assert again.n_rounds == first.n_rounds
    assert again.stop_reason == "eps"
    assert np.array_equal(again.model.w, first.model.w)


def test_a_smaller_eps_continues_from_the_end_of_the_run(tmp_path):
    first = go(tmp_path / "run", eps=0.01)
    again = go(tmp_path / "run", resume=True, eps=1e-4)
    assert again.n_rounds > first.n_rounds
    assert again.gap <= 1e-4 * again.C


@pytest.mark.parametrize("executor", ["serial", "processes"])
@pytest.mark.parametrize("name", ["planes-00001.npz", "driver.npz", "manifest.json"])
def test_an_older_checkpoint_takes_the_place_of_a_damaged_one(tmp_path, caplog, name, executor):
    go(tmp_path / "run", checkpoint_rounds=3, callbacks=[StopAfter(8)])
    newest = latest_checkpoint(tmp_path / "run").folder
    (newest / name).unlink()
    result = go(tmp_path / "run", resume=True, executor=executor)
    note = result.history[6].note
    assert f"{name} does not exist; resumed from round-00000006 instead" in note
    assert note in caplog.text
    assert note in result.notes
    assert history(result) == history(go(tmp_path / "whole"))


def test_planes_that_are_gone_are_refused_by_name_where_no_older_checkpoint_is(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(8)])
    (latest_checkpoint(tmp_path / "run").folder / "planes-00003.npz").unlink()
    with pytest.raises(CheckpointError, match=r"planes-00003\.npz does not exist"):
        go(tmp_path / "run", resume=True)


def test_a_crash_while_writing_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    good = latest_checkpoint(tmp_path / "run")
    # What a kill in the middle leaves behind: a folder aside, and half a line of history.
    shutil.copytree(good.folder, good.folder.with_name("round-00000009.part"))
    with open(tmp_path / "run" / "history.jsonl", "a") as file:
        file.write('{"number": 6, "kin')
    assert latest_checkpoint(tmp_path / "run").number == 5
    result = go(tmp_path / "run", resume=True)
    assert history(result) == history(go(tmp_path / "whole"))


def test_a_kill_in_a_checkpoint_leaves_nothing_for_good(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    left = tmp_path / "run" / "checkpoints" / ".round-00000006-abc.part"
    left.mkdir()
    go(tmp_path / "run", resume=True)
    assert not left.exists()


def test_a_start_is_not_forgotten_before_the_first_checkpoint(tmp_path):
    first = go(tmp_path / "first", eps=0.01)
    whole = go(tmp_path / "whole", start=first.model)

    class Dies(Callback):
        def on_round(self, record):
            raise RuntimeError("as if killed")

    with pytest.raises(RuntimeError):
        go(tmp_path / "part", start=first.model, callbacks=[Dies()])
    result = go(tmp_path / "part", resume=True)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


def test_a_run_on_files_is_resumed_by_its_folder_alone(tmp_path):
    X, y = make_multiclass(300, 6, 3, noise=0.3, seed=0)
    write_parts(tmp_path / "data", X, y, 3, "svmlight")
    config = {"C": 50.0, "eps": 1e-3, "executor": "serial", "n_shards": 4}
    data = str(tmp_path / "data")
    whole = train(MulticlassTask(), data, run_dir=str(tmp_path / "whole"), **config)
    train(
        MulticlassTask(), data, run_dir=str(tmp_path / "part"), callbacks=[StopAfter(6)], **config
    )
    result = resume(tmp_path / "part", executor="threads", n_workers=2)
    assert np.array_equal(result.model.w, whole.model.w)
    with pytest.raises(ConfigError, match="C cannot change"):
        resume(tmp_path / "part", C=3.0)
    go(tmp_path / "memory")
    with pytest.raises(ConfigError, match="data in memory"):
        resume(tmp_path / "memory", task=ToyChain)
    mixed = tmp_path / "mixed"
    train(MulticlassTask(), data, validation=(X, y), run_dir=mixed, max_rounds=2, **config)
    with pytest.raises(ConfigError, match="validation data in memory"):
        resume(mixed)
    with pytest.raises(CheckpointError, match="other validation data"):
        train(MulticlassTask(), data, run_dir=mixed, resume=True, **config)


def test_a_resumed_run_keeps_its_C(tmp_path, monkeypatch):
    run = {"run_dir": tmp_path / "run", "executor": "serial", "eps": 0.01}
    X, y = make_multiclass(40, 4, 3, noise=0.3, seed=1)
    with monkeypatch.context() as patch:
        patch.setattr(loaded, "C_FACTOR", 3.0)
        begun = train(MulticlassTask(), X, y, callbacks=[StopAfter(2)], **run)
    result = train(MulticlassTask(), X, y, resume=True, **run)
    assert result.C == begun.C
    whole = train(MulticlassTask(), X, y, executor="serial", eps=0.01, C=begun.C)
    assert np.array_equal(result.model.w, whole.model.w)


@pytest.mark.parametrize("C", [0, -1.0, "1", None, float("inf")])
def test_a_run_whose_C_is_no_positive_number_is_damaged(tmp_path, C):
    go(tmp_path / "run", callbacks=[StopAfter(2)])
    path = tmp_path / "run" / "run.json"
    noted = json.loads(path.read_text())
    noted["used"]["C"] = C
    path.write_text(json.dumps(noted))
    with pytest.raises(CheckpointError, match=r"damaged.*C is"):
        go(tmp_path / "run", resume=True)
