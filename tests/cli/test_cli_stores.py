"""The verbs on runs and models in stores."""

import json
import threading

import pytest
from cli_files import train_args
from structured_files import run, told

from distsvm.cli import main, stop
from distsvm.model import load_model
from distsvm.storage import place
from distsvm.training import session
from distsvm.training.run_state import read_state

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

SECRET = "w0rd-of-mine"


@pytest.fixture(params=["memory", "local"])
def home(request, tmp_path):
    if request.param == "local":
        yield f"local://{tmp_path}/runs"
        return
    yield "memory://cli/runs"
    fsspec.filesystem("memory").rm("/cli", recursive=True)


def test_a_run_in_a_store_is_made_listed_looked_at_resumed_and_drawn(home, files, capsys):
    words = train_args(files.train, "--run-dir", f"{home}/a", "--max-rounds", "3")
    out = run(capsys, *words, code=7)
    assert f"{home}/a/model" in out.out
    assert f"{home}/a/report.html" in out.out
    assert f"distsvm resume {home}/a --max-rounds N" in out.err
    assert "max-rounds = 3" in place(f"{home}/a/config.toml").open().read().decode()

    assert told(capsys, "status", f"{home}/a")["state"] == "stopped"
    found = told(capsys, "runs", home)
    assert (found["path"], found["round"]) == (f"{home}/a", 3)
    assert "  a    multiclass  stopped" in run(capsys, "runs", home).out
    seen = told(capsys, "inspect", f"{home}/a")
    assert (seen["kind"], seen["checkpoints"]) == ("run", ["round-00000003"])
    seen = told(capsys, "inspect", f"{home}/a/checkpoints/round-00000003")
    assert (seen["kind"], seen["run"], seen["round"]["number"]) == ("checkpoint", f"{home}/a", 3)
    assert seen["n_bytes"] > 1000
    assert seen["n_plane_files"] == 1

    result = json.loads(
        run(capsys, "resume", f"{home}/a", "--max-rounds", "500", "--json").out.splitlines()[-1]
    )
    assert (result["stop_reason"], result["model"]) == ("eps", f"{home}/a/model")
    assert told(capsys, "report", f"{home}/a")["report"] == f"{home}/a/report.html"
    assert told(capsys, "inspect", f"{home}/a/model")["kind"] == "model"
    words = ("evaluate", "--model", f"{home}/a/model", "--data", files.test)
    assert told(capsys, *words)["accuracy"] > 0.8


def test_a_model_is_written_to_a_store_and_replaced_by_force_only(home, files, capsys):
    words = train_args(files.train, "--model", f"{home}/m", "--max-rounds", "2")
    run(capsys, *words, code=7)
    assert load_model(f"{home}/m").facts["n_rounds"] == 2
    err = run(capsys, *words, code=2).err
    assert f"--model {home}/m holds a model already; --force replaces it" in err
    run(capsys, *words, "--force", code=7)
    place(f"{home}/other/thesis.txt").write(b"years of work")
    err = run(capsys, *train_args(files.train, "--model", f"{home}/other"), code=2).err
    assert "exists and is not a model" in err


def test_what_is_wrong_with_a_store_is_said_before_the_work(home, files, capsys):
    run(capsys, *train_args(files.train, "--run-dir", f"{home}/a", "--max-rounds", "1"), code=7)
    err = run(capsys, *train_args(files.train, "--run-dir", f"{home}/a"), code=2).err
    assert f"--run-dir {home}/a holds a run already; go on with it" in err
    words = train_args(files.train, "--run-dir", f"{home}/b/r", "--model", f"{home}/b")
    assert "the model needs a folder of its own" in run(capsys, *words, code=2).err
    for verb in ("status", "stop", "runs", "inspect", "resume", "report"):
        assert f"{home}/none" in run(capsys, verb, f"{home}/none", code=6).err
    err = run(capsys, "stop", f"{home}/a", code=6).err
    assert f"{home}/a is not running: it is stopped" in err


def test_a_run_in_a_store_is_stopped_through_it(files, capsys, monkeypatch):
    monkeypatch.setattr(session, "BEAT_S", 0.001)
    monkeypatch.setattr(stop, "LOOK_IN_STORE_S", 0.001)
    words = train_args(files.train, "--run-dir", "memory://cli/a", "--quiet", "--C", "1e9", "--eps",
                       "0", "--qp", "line-search")  # fmt: skip
    codes = []
    trained = threading.Thread(target=lambda: codes.append(main(words)))
    trained.start()
    folder = place("memory://cli/a")
    while not ((folder / "history.jsonl").exists() and read_state(folder).state == "running"):
        assert trained.is_alive()
    assert main(["stop", str(folder), "--wait", "60", "--quiet"]) == 0
    trained.join()
    assert codes == [130]
    assert read_state(folder).stop_reason == "interrupted"
    folder.parent.remove()


@pytest.mark.parametrize("verb", ["train", "resume", "status", "stop", "runs", "inspect", "report"])
def test_a_password_in_the_uri_of_a_run_is_never_shown(verb, files, capsys):
    uri = f"s3://somebody:{SECRET}@bucket/runs/a"
    words = train_args(files.train, "--run-dir", uri) if verb == "train" else [verb, uri]
    shown = run(capsys, *words, code=2)
    assert "a URI with a password in it" in shown.err
    assert SECRET not in shown.out + shown.err
