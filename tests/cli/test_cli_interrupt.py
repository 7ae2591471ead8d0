"""Ctrl-C: the first ends a run after its round, with a checkpoint; the second aborts at once."""

import json
import signal
import subprocess
import sys

import pytest
from cli_files import blobs, train_args
from test_cli_progress import START, record

from distsvm.cli import main
from distsvm.cli.display import watched
from distsvm.cli.output import Output
from distsvm.data.writers import write_svmlight
from distsvm.model import load_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")


def test_ctrl_c_ends_the_run_with_a_checkpoint_and_says_how_to_go_on(capsys, tmp_path):
    X, y = blobs(400, 2)
    write_svmlight(tmp_path / "hard.svm", X, y)
    folder, model = tmp_path / "r", tmp_path / "m"
    # eps = 0 has rounds enough that the pipe is full long before the end.
    words = train_args(tmp_path / "hard.svm", "--run-dir", folder, "--model", model, "--json",
                       "--eps", "0", "--C", "1e6", "--stabilise", "1")  # fmt: skip
    command = [sys.executable, "-m", "distsvm.cli", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if json.loads(line)["event"] == "round":
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate()
    assert process.returncode == 130, err
    result = json.loads(out.splitlines()[-1])
    assert (result["event"], result["stop_reason"]) == ("result", "interrupted")
    assert "stopping after this round" in err
    assert f"go on with: distsvm resume {folder}" in err
    assert "Traceback" not in err
    n_rounds = result["n_rounds"]
    assert load_model(model).facts["primal"] == result["primal"]
    assert (folder / "checkpoints" / f"round-{n_rounds:08d}" / "manifest.json").exists()
    limit = str(n_rounds + 2)
    assert main(["resume", str(folder), "--max-rounds", limit, "--json"]) == 7
    start = json.loads(capsys.readouterr().out.splitlines()[0])
    assert start["first_round"] == n_rounds + 1


@pytest.mark.parametrize("output", [{"json": True}, {"quiet": True}, {}])
def test_the_second_ctrl_c_aborts_and_the_old_handler_returns(output):
    before = signal.getsignal(signal.SIGINT)
    answers = []

    def call(callbacks):
        for callback in callbacks:
            callback.on_start(START)
        answers.append(any(callback.on_round(record(1, 3.0)) for callback in callbacks))
        signal.raise_signal(signal.SIGINT)
        answers.append(any(callback.on_round(record(2, 2.0)) for callback in callbacks))
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        watched(Output(**output), "test", call)
    assert answers == [False, True]
    assert signal.getsignal(signal.SIGINT) is before


def test_before_the_first_round_ctrl_c_aborts_at_once():
    with pytest.raises(KeyboardInterrupt):
        watched(Output(quiet=True), "test", lambda _: signal.raise_signal(signal.SIGINT))


def test_an_aborted_run_says_how_to_go_on(capsys):
    def call(callbacks):
        callbacks[0].on_round(record(1, 3.0))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched(Output(), "test", call, run_dir="my run")
    assert "last checkpoint: distsvm resume 'my run'" in capsys.readouterr().err


def test_an_interrupted_command_ends_with_130(files, monkeypatch, capsys, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("distsvm.cli.train.train", interrupted)
    assert main(train_args(files.train, "--model", tmp_path / "m", "--quiet")) == 130
    assert capsys.readouterr().err == ""
