"""The verbs about runs and jobs: sent, watched, stopped, resumed; and the table of runs."""

import asyncio
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from cli_files import train_args
from fake_jobs import FakeClient
from test_cli_own_task import CODE

from distsvm import MulticlassTask, train
from distsvm.cli import main
from distsvm.cli.signs import CONTROL
from distsvm.jobs import client
from distsvm.training.run_state import STOP
from distsvm.training.session import Session

URL = "http://head:8265"
ADDRESS = ["--address", URL]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster of which every verb is told that it is at URL; it runs jobs at once."""
    (tmp_path / "cluster").mkdir()
    fake = FakeClient(tmp_path / "cluster")
    monkeypatch.setattr(client, "connected", lambda address: fake)
    return fake


@pytest.fixture
def config(files, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(
        f'task = "multiclass"\ndata = "{files.train}"\nexecutor = "serial"\nmax-rounds = 2\n'
        f'run-dir = "{tmp_path / "runs" / "spam"}"\n'
    )
    return str(path)


def run(capsys, *words, code=0):
    capsys.readouterr()
    assert main([str(word) for word in words]) == code, capsys.readouterr()
    return capsys.readouterr()


def test_a_run_is_sent_followed_looked_at_and_resumed_by_name(cluster, config, capsys, tmp_path):
    folder = tmp_path / "runs" / "spam"
    out = run(capsys, "submit", *ADDRESS, config, "--C", "50", code=7).out
    for part in ("job", "sent", "config.toml (", "round 1 fresh", "stopped", "exit code 7"):
        assert part in out
    entrypoint, environment, sent = cluster.asked[0]
    assert entrypoint == "exec python -m distsvm.cli train config.toml"
    assert sent == ["config.toml"]
    assert not any("TOKEN" in name for name in environment["env_vars"])
    assert json.loads((folder / "run.json").read_text())["config"]["C"] == 50

    out = run(capsys, "status", "spam", *ADDRESS).out
    assert "7: a training run ended before the target gap" in out
    assert "gap/C" in out
    assert str(folder) in run(capsys, "status", *ADDRESS).out
    assert "round 1 fresh" in run(capsys, "logs", "spam", *ADDRESS).out

    words = ["resume", "spam", *ADDRESS, "--max-rounds", "none", "--executor", "serial"]
    out = run(capsys, *words).out
    assert cluster.asked[1][0].endswith(f"resume {folder} --max-rounds none --executor serial")
    assert "finished" in out
    (told,) = map(json.loads, run(capsys, "status", folder, "--json").out.splitlines())
    assert (told["state"], told["stop_reason"]) == ("finished", "eps")
    # The last line is of JSON's own, though the job's output was text.
    *_, end = map(
        json.loads, run(capsys, "logs", "spam", "-f", *ADDRESS, "--json").out.splitlines()
    )
    assert (end["event"], end["state"], end["exit_code"]) == ("end", "finished", 0)


def test_the_tasks_code_and_what_it_needs_are_sent(cluster, capsys, tmp_path, monkeypatch):
    cluster.run = False
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "more.py").write_text("")
    (tmp_path / "c.toml").write_text(
        f'task = "{tmp_path}/mine.py:RootLabel"\ndata = "/data/x.mrg"\nrun-dir = "/runs/own"\n'
    )
    words = ["submit", tmp_path / "c.toml", *ADDRESS, "--include", tmp_path / "more.py",
             "--detach", "--send-distsvm"]  # fmt: skip
    out = run(capsys, *words).out
    assert cluster.asked[0][2] == ["config.toml", "mine.py", "more.py"]
    assert cluster.asked[0][1]["py_modules"]
    (sent,) = (tmp_path / "cluster").glob("own-*")
    text = (sent / "config.toml").read_text()
    assert 'task = "mine.py:RootLabel"' in text
    assert 'executor = "ray"' in text
    assert f"follow it: distsvm logs --follow {sent.name} --address {URL}" in out
    # A run of such a task is resumed with its code.
    monkeypatch.chdir(tmp_path)
    words = ["resume", "own", *ADDRESS, "--task", "mine.py:RootLabel", "--detach"]
    run(capsys, *words)
    assert cluster.asked[1][2] == ["mine.py"]
    assert cluster.asked[1][0].endswith("resume /runs/own --task mine.py:RootLabel --executor ray")


def test_the_file_says_how_the_job_is_sent(cluster, config, capsys, tmp_path):
    cluster.run = False
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("")
    path = tmp_path / "job.toml"
    path.write_text(
        f'{Path(config).read_text()}[job]\naddress = "{URL}"\nname = "mine"\npython = "py3"\n'
        f'include = ["{tmp_path}/one.py"]\nsend-distsvm = true\nlargest-mb = 2\ndetach = true\n'
    )
    out = run(capsys, "submit", path).out
    assert "follow it:" in out
    entrypoint, environment, sent = cluster.asked[0]
    assert entrypoint == "exec py3 -m distsvm.cli train config.toml"
    assert sent == ["config.toml", "one.py"]
    assert environment["py_modules"]
    (folder,) = (tmp_path / "cluster").glob("mine-*")
    assert "[job]" not in (folder / "config.toml").read_text()
    # The command line comes before it; what may be said several times is added.
    words = ["submit", path, "--name", "other", "--include", tmp_path / "two.py"]
    run(capsys, *words)
    assert cluster.asked[1][2] == ["config.toml", "one.py", "two.py"]
    assert list((tmp_path / "cluster").glob("other-*"))
    assert "more than 0 MB" in run(capsys, "submit", path, "--largest-mb", "0", code=2).err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[job]\nincludes = "x"', "there is no key 'includes' in [job]; the nearest is 'include'"),
        (
            "[job]\nlargest-mb = true",
            "expected a number ≥ 0, found a truth value",
        ),
        ("[job]\ninclude = []", "expected a text or a list of texts"),
        ('job = "x"', 'job = "x": expected a table, [job]'),
        ('include = "x"', "there is no key 'include'; it belongs to the table [job]"),
    ],
)
def test_what_is_wrong_with_the_table_of_the_job_is_said(cluster, config, capsys, text, message):
    path = Path(f"{config}.job.toml")
    path.write_text(f"{Path(config).read_text() if '[' in text else ''}{text}\n")
    assert message in run(capsys, "submit", path, *ADDRESS, code=2).err
    assert cluster.asked == []


def test_train_leaves_the_table_of_the_job_alone(config, capsys):
    with open(config, "a") as file:
        file.write('[job]\nname = "mine"\n')
    run(capsys, "train", config, "-q", code=7)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--data", "here.svm"], "--data here.svm: the job runs in another folder"),
        (["--run-dir", "r"], "--run-dir r: the job runs in another folder"),
        (["--run-dir", "s3://me:word@b/r"], "a URI with a password in it"),
        (["--model", "s3://me:word@b/m"], "a URI with a password in it"),
        (["--no-such"], "unrecognized arguments: --no-such"),
        (["--C", "-1"], "--C -1: expected a number > 0"),
        (["--task", "none.py:X"], "there is no file none.py"),
        (["--largest-mb", "0"], "more than 0 MB"),
    ],
)
def test_what_cannot_run_there_is_refused_here(cluster, config, capsys, more, message):
    assert message in run(capsys, "submit", *ADDRESS, config, *more, code=2).err
    assert cluster.asked == []


def test_a_job_without_a_folder_is_refused(cluster, config, capsys, tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(f'task = "multiclass"\ndata = "/d"\nmodel = "{tmp_path}/m"\n')
    assert "run-dir is missing" in run(capsys, "submit", *ADDRESS, path, code=2).err


def test_train_says_where_a_dashboards_address_belongs(files, capsys, tmp_path):
    words = train_args(files.train, "--model", tmp_path / "m", "--address", "http://u:pw@head:8265")
    err = run(capsys, *words, code=2).err
    assert "--address http://head:8265: that is a dashboard's address" in err
    assert "pw" not in err


@pytest.mark.parametrize("verb", ["submit", "logs"])
def test_ctrl_c_leaves_the_job_running_and_says_how_to_get_back(cluster, config, capsys, verb):
    closed = []

    async def endless(id):
        try:
            yield "round 1\n"
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            closed.append(id)

    if verb == "logs":
        run(capsys, "submit", *ADDRESS, config, "--detach")
    cluster.tail_job_logs = endless
    cluster.stop_job = None
    words = ["submit", config] if verb == "submit" else ["logs", "spam", "--follow"]
    said = run(capsys, *words, *ADDRESS, code=130)
    assert "round 1" in said.out
    (id,) = closed
    assert f"the job {id} is still running" in said.err
    assert f"follow it: distsvm logs --follow {id} --address {URL}" in said.err
    assert "Traceback" not in said.err


def test_advice_of_a_job_names_the_address_of_its_cluster(cluster, config, capsys, tmp_path):
    out = run(capsys, "submit", *ADDRESS, config, code=7).out
    folder = tmp_path / "runs" / "spam"
    assert f"go on with: distsvm resume {folder} --max-rounds N --address {URL}" in out
    again = run(capsys, "submit", *ADDRESS, config, code=2).out
    assert f"(distsvm resume {folder} --address {URL})" in again


def test_the_message_of_a_killed_job_is_whole(cluster, config, capsys):
    run(capsys, "submit", *ADDRESS, config, "--detach")
    (details,) = cluster.jobs.values()
    lines = [f"line {number} {'of the log ' * 20}end" for number in range(10)]
    details.status, details.driver_exit_code = "FAILED", -9
    details.message = "\n".join(["failed with exit code -9, last available logs:", *lines])
    shown = run(capsys, "status", "spam", *ADDRESS).out
    assert "-9: killed by SIGKILL" in shown
    assert " ".join(details.message.split()) in " ".join(shown.split())
    said = run(capsys, "logs", "--follow", "spam", *ADDRESS, code=8).out
    assert "exit code -9: killed by SIGKILL" in said
    details.driver_exit_code, details.message = None, "the node of the job died\nclass: Supervisor"
    said = run(capsys, "logs", "--follow", "spam", *ADDRESS, code=8).out
    assert "failed: the node of the job died\nclass: Supervisor" in said


def test_a_job_is_stopped_by_its_runs_name(cluster, config, capsys):
    run(capsys, "submit", *ADDRESS, config, code=7)
    assert "stopped" in run(capsys, "stop", "spam", *ADDRESS).out
    assert "'eggs'" in run(capsys, "stop", "eggs", *ADDRESS, code=8).err


# --- folders -------------------------------------------------------------------------------


def test_runs_are_listed_with_gap_state_and_age(files, capsys, tmp_path):
    home = tmp_path / "runs"
    home.mkdir()
    assert "no runs in" in run(capsys, "runs", home).out
    run(capsys, *train_args(files.train, "--run-dir", home / "one", "-q"))
    run(capsys, *train_args(files.train, "--run-dir", home / "deep" / "two", "--max-rounds", 2,
                            "-q"), code=7)  # fmt: skip
    (home / "three").mkdir()
    (home / "three" / "run.json").write_text("{")
    (home / "notes.txt").write_text("")
    said = run(capsys, "runs", home)
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert set(lines) == {"run", "one", "deep/two", "three"}
    assert "damaged" in lines["three"]
    assert "finished" in lines["one"]
    assert "stopped" in lines["deep/two"]
    assert "three/run.json is damaged" in said.err
    told = [json.loads(line) for line in run(capsys, "runs", home, "--json").out.splitlines()]
    assert (told[0]["state"], told[0]["round"]) == ("stopped", 2)
    assert all(t["gap"] > 0 and t["age_s"] >= 0 for t in told if t["state"] != "damaged")
    assert [t["path"] for t in told if t["state"] == "damaged"] == [str(home / "three")]


@pytest.mark.parametrize("verb", ["status", "stop"])
def test_a_word_that_names_no_folder_is_said(verb, capsys, monkeypatch):
    for name in client.ADDRESSES:
        monkeypatch.delenv(name, raising=False)
    err = run(capsys, verb, "runs/spma", code=2).err
    assert "runs/spma: there is no such folder of a run" in err
    assert "--address is missing" in err


@pytest.mark.parametrize("verb", ["status", "stop"])
def test_a_folder_that_is_no_run_is_said(verb, capsys, tmp_path):
    assert "it has no run.json" in run(capsys, verb, tmp_path, code=6).err
    assert "is not a folder" in run(capsys, "runs", tmp_path / "none", code=6).err


def test_a_folder_is_asked_to_stop_only_while_it_runs(files, capsys, tmp_path):
    folder = tmp_path / "r"
    run(capsys, *train_args(files.train, "--run-dir", folder, "--max-rounds", 2, "-q"), code=7)
    assert "is not running: it is stopped" in run(capsys, "stop", folder, code=6).err
    session = Session(folder)
    session.take()
    try:
        assert "will end after its round" in run(capsys, "stop", folder).out
        assert (folder / STOP).exists()
        assert "running: process" in run(capsys, "status", folder).out
        words = ["resume", folder, "--max-rounds", "3"]
        assert "in use by a run" in run(capsys, *words, code=6).err
    finally:
        session.end()
    assert not (folder / STOP).exists()


def test_no_sign_of_a_jobs_output_or_facts_steers_the_terminal(cluster, config, capsys):
    cluster.run = False
    run(capsys, "submit", *ADDRESS, config, "--detach")
    (id,) = cluster.jobs
    cluster.text[id] = "a\tline\r\n\x1b[2J\x1b]0;title\x07 \u202eend\x9b1m\n"
    job = cluster.jobs[id]
    job.status, job.driver_exit_code, job.message = "FAILED", None, "bad \x1b[2J\nluck\x07"
    job.metadata = {name: f"{value}\x1b[2J" for name, value in job.metadata.items()}
    shown = "a\tline\\x0d\n\\x1b[2J\\x1b]0;title\\x07 \\u202eend\\x9b1m\n"
    assert run(capsys, "logs", id, *ADDRESS).out == shown
    assert run(capsys, "logs", "--follow", id, *ADDRESS, code=8).out.startswith(shown)
    job.message = "bad \x1b[2J\nluck\x07"
    for words in (["status", id], ["status"], ["stop", id]):
        text = run(capsys, *words, *ADDRESS).out
        assert not CONTROL.search(text.replace("\n", ""))


def test_a_run_whose_data_was_in_memory_is_refused_without_advice_in_python(capsys, tmp_path):
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    train(MulticlassTask(), X, y, executor="serial", max_rounds=1, run_dir=tmp_path / "run")
    err = run(capsys, "resume", tmp_path / "run", code=2).err
    assert "had its data in memory; only the Python program that has the data can resume it" in err
    assert "train(" not in err
