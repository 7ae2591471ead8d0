"""Runs over HTTP: begun, watched, stopped, resumed, deleted, and their models asked."""

import json
import time
import zipfile

import pytest

from distsvm.model import load_model
from distsvm.service import ServiceError
from distsvm.training.run_folder import RunFolder


def test_a_run_is_begun_watched_and_asked(served, rows, tmp_path):
    begun = served.client.submit(rows, "first")
    assert begun["name"] == "first"
    assert begun["state"] in ("waiting", "starting", "running")
    ended = served.wait("first", "finished", "failed")
    assert ended["state"] == "finished", served.client.logs("first")
    history = served.client.history("first")
    assert [one["number"] for one in history] == list(range(1, len(history) + 1))
    assert served.client.history("first", 2) == history[1:]
    assert RunFolder(served.home / "first").history()[-1].number == len(history)
    model = load_model(served.home / "first")
    inputs = [[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0]]
    assert served.client.predict("first", inputs) == model.predict(inputs).tolist()
    saved = served.client.save_model("first", tmp_path / "model.zip")
    zipfile.ZipFile(saved).extractall(tmp_path / "out")
    assert (load_model(tmp_path / "out" / "first").w == model.w).all()
    assert "<html" in served.client.report("first")


def test_options_come_as_toml_too_and_the_config_begins_an_equal_run(served, rows):
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in rows.items())
    served.client.submit(text, "toml")
    served.wait("toml", "finished")
    served.client.submit(served.client.config("toml"), "again")
    served.wait("again", "finished")
    one, two = (load_model(served.home / name) for name in ("toml", "again"))
    assert (one.w == two.w).all()


def await_signs(path, n):
    """Wait until a run has given n more signs of life."""
    for _ in range(n):
        before = path.stat().st_mtime_ns
        while path.stat().st_mtime_ns == before:
            time.sleep(0.05)


@pytest.mark.slow
def test_a_run_is_stopped_after_its_round_and_resumed_with_another_limit(served, held):
    served.client.submit(held.options | {"C": 10.0, "rel-gap": 1e-9}, "long")
    served.wait("long", "running")
    served.client.stop("long")
    await_signs(
        served.home / "long" / "state.json", 2
    )  # by then the run has seen that it is to stop
    held.let_go()
    stopped = served.wait("long", "stopped", "finished")
    assert stopped["stop_reason"] == "interrupted"
    n = len(served.client.history("long"))
    served.client.resume("long", max_rounds=n + 1)
    while (ended := served.wait("long", "stopped", "failed", "finished"))["attempt"] != 2:
        pass
    assert ended["stop_reason"] in ("max_rounds", "rel_gap"), served.client.logs("long")
    assert len(served.client.history("long")) == n + 1


def test_runs_wait_for_their_turn_in_order(served, held, rows):
    served.client.submit(held.options, "a")
    served.wait("a", "running")
    assert [served.client.submit(rows, name)["waits"] for name in ("b", "c")] == [1, 2]
    served.client.stop("b")
    assert served.client.run("b")["state"] == "stopped"
    assert served.client.run("c")["waits"] == 1
    held.let_go()
    served.wait("c", "finished")
    assert not (served.home / "b").exists()
    assert [one["name"] for one in served.client.runs()] == ["c", "b", "a"]
    assert {one["name"] for one in served.client.runs("finished")} == {"a", "c"}


def test_a_run_is_deleted_only_when_it_does_not_run_and_its_name_is_repeated(served, held):
    served.client.submit(held.options, "run")
    served.wait("run", "running")
    with pytest.raises(ServiceError, match="cannot be deleted: it is running") as error:
        served.client.delete("run")
    assert error.value.status == 409
    held.let_go()
    served.wait("run", "finished")
    with pytest.raises(ServiceError, match="repeat"):
        served.client._json("DELETE", "/api/runs/run")
    with pytest.raises(ServiceError, match="only if the name is repeated"):
        served.client._json("DELETE", "/api/runs/run", word="other")
    served.client.delete("run")
    assert not (served.home / "run").exists()
    with pytest.raises(ServiceError, match="there is no run 'run'") as error:
        served.client.run("run")
    assert error.value.status == 404


def test_a_run_that_fails_says_why_by_its_log(served, rows):
    bad = served.data / "bad.svm"
    bad.write_text("1 1:2\nx 1:nonsense\n")
    served.client.submit(rows | {"data": [str(bad)]}, "bad")
    ended = served.wait("bad", "failed")
    assert "bad.svm" in ended["error"]["message"]
    assert "bad.svm" in served.client.logs("bad")
    assert ended["exit_code"] == 3
