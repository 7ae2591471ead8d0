"""Secrets are in no message, report or list of processes."""

import os

import numpy as np
import pytest
from drill_lab import namespaces

import distsvm
from distsvm.cli import exits, main
from distsvm.errors import ConfigError
from distsvm.uris import check_secretless

SECRET = "s3cr3t-w0rd"


def test_the_drill_tells_its_processes_where_the_token_is_and_not_what(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(namespaces.subprocess, "Popen", lambda *a, **k: started.append((a, k)))
    monkeypatch.setattr(namespaces, "_ip", lambda *arguments: None)
    monkeypatch.setattr(namespaces.Lab, "close", lambda self: None)
    with namespaces.Lab(2, n_cpus=1) as lab:
        token = (lab.folder / "token").read_text()
        assert len(token) == 64
        assert os.stat(lab.folder / "token").st_mode & 0o077 == 0
        for node in (0, 1):
            lab.start(node)
    assert len(started) == 2
    for (command,), options in started:
        assert token not in " ".join(command)
        assert options["env"]["RAY_AUTH_MODE"] == "token"
        assert token not in options["env"].values()


SECRETIVE = {
    "password": f"https://somebody:{SECRET}@127.0.0.1:9/train.svm",
    "password of a bucket": f"s3://somebody:{SECRET}@bucket/train.svm",
    "password of ftp": f"ftp://somebody:{SECRET}@127.0.0.1:9/train.svm",
    "name": f"https://{SECRET}@127.0.0.1:9/train.svm",
    "query": f"http://127.0.0.1:9/train.svm?token={SECRET}",
    "query of one word": f"https://127.0.0.1:9/train.svm?{SECRET}",
    "signature": f"abfs://box@account.dfs.example.com/train.svm?sv=1&sig={SECRET}",
    "chain": f"zip://train.svm::https://somebody:{SECRET}@127.0.0.1:9/a.zip",
    "bracket": f"https://somebody:{SECRET}@[127.0.0.1/train.svm",
}


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate"])
@pytest.mark.parametrize("more", [[], ["--format", "conll"]], ids=["plain", "another format"])
@pytest.mark.parametrize("kind", SECRETIVE)
def test_a_secret_in_a_uri_is_never_shown(verb, kind, more, tmp_path, files_model, capsys):
    run = ["--task", "multiclass", "--run-dir", str(tmp_path / "run")]
    given = run if verb == "train" else ["--model", files_model]
    assert main([verb, "--data", SECRETIVE[kind], *given, *more]) == exits.USAGE
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--run-dir", "--model", "--start", "--validation"])
@pytest.mark.parametrize("kind", SECRETIVE)
def test_no_option_takes_a_secret_in_a_uri(kind, option, tmp_path, capsys):
    data = tmp_path / "train.svm"
    data.write_text("1 1:1\n2 2:1\n")
    given = ["train", "--task", "multiclass", "--data", str(data), "--executor", "serial"]
    folder = [] if option == "--run-dir" else ["--run-dir", str(tmp_path / "run")]
    assert main([*given, *folder, option, SECRETIVE[kind]]) == exits.USAGE
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or SECRET not in file.read_text(errors="replace")


@pytest.fixture(scope="module")
def files_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets") / "m"
    task = distsvm.MulticlassTask()
    distsvm.train(task, (np.eye(2), [0, 1]), executor="serial", max_rounds=1).model.save(folder)
    return str(folder)


@pytest.mark.parametrize("kind", SECRETIVE)
def test_a_secret_in_a_uri_is_in_no_error_of_the_library(kind):
    with pytest.raises(ConfigError) as caught:
        distsvm.open_data(SECRETIVE[kind]).specs(1)[0].load()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/train-?.svm",
        "abfs://box@account/train.svm",
        "sftp://me@host/a",
        "a?b=c",
        "x::y",
    ],
)
def test_patterns_and_names_that_are_no_secret_are_taken(uri):
    check_secretless(uri)
