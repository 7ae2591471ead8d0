"""A run goes on when no one reads its output, and ends with a checkpoint when its terminal goes."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from cli_files import blobs, train_args

from distsvm.data.writers import write_svmlight
from distsvm.training.run_state import read_state

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")

COMMAND = [sys.executable, "-m", "distsvm.cli"]


@pytest.fixture
def words(tmp_path):
    X, y = blobs(200, 2)
    write_svmlight(tmp_path / "x.svm", X, y)
    return [str(w) for w in train_args(tmp_path / "x.svm", "--run-dir", tmp_path / "run")]


@pytest.mark.parametrize("form", [[], ["--json"], ["--verbose"]])
def test_a_run_goes_on_when_its_reader_has_seen_enough(tmp_path, words, form):
    reader, writer = os.pipe()
    os.close(reader)  # as early as `| head -1` can
    ended = subprocess.run(
        [*COMMAND, *words, *form], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300
    )
    os.close(writer)
    assert (ended.returncode, read_state(tmp_path / "run").state) == (0, "finished"), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_run_goes_on_with_closed_streams(tmp_path, words, closed):
    line = f'exec "$@" {closed}'
    ended = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *words], capture_output=True, text=True, timeout=300
    )
    assert (ended.returncode, read_state(tmp_path / "run").state) == (0, "finished"), ended.stderr
    assert "Traceback" not in ended.stderr


def test_predictions_that_no_one_reads_end_the_command_without_a_traceback(tmp_path, words):
    model = str(tmp_path / "m")
    subprocess.run([*COMMAND, *words, "--model", model, "--quiet"], check=True, timeout=300)
    reader, writer = os.pipe()
    os.close(reader)
    data = str(tmp_path / "x.svm")
    ended = subprocess.run(
        [*COMMAND, "predict", "--model", model, "--data", data, "--output", "-"],
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300,
    )  # fmt: skip
    os.close(writer)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr


ENDLESS = ["--eps", "0", "--C", "1e6", "--stabilise", "1", "--solver", "one-slack"]


def test_a_terminal_that_goes_ends_the_run_with_a_checkpoint(tmp_path, words):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words, *ENDLESS], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    while b"round" not in os.read(ours, 1 << 16):
        pass
    process.send_signal(signal.SIGHUP)
    os.close(ours)
    assert process.wait(300) == 130
    state = read_state(tmp_path / "run")
    assert (state.state, state.stop_reason) == ("stopped", "interrupted")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    kept = tmp_path / "run" / "checkpoints" / f"round-{result['n_rounds']:08d}"
    assert (kept / "manifest.json").exists()


def test_a_run_under_nohup_goes_on_without_its_terminal(tmp_path, words):
    line = 'trap "" HUP; exec "$@"'
    with subprocess.Popen(
        ["sh", "-c", line, "sh", *COMMAND, *words, *ENDLESS, "--json", "--max-rounds", "40"],
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        for text in process.stdout:
            if json.loads(text)["event"] == "round":
                process.send_signal(signal.SIGHUP)
                break
        process.communicate()
    assert process.returncode == 7
    assert read_state(tmp_path / "run").stop_reason == "max_rounds"
