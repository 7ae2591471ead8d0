"""Secrets are in no message, report or list of processes."""

import os

import pytest

from distsvm.cli import main
from distsvm.errors import DistSVMError

SECRET = "s3cr3t-w0rd"


def test_the_drill_tells_its_processes_where_the_token_is_and_not_what(tmp_path, monkeypatch):
    namespaces = _drill()
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


def _drill():
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "cluster" / "drill" / "namespaces.py"
    spec = importlib.util.spec_from_file_location("namespaces", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate"])
@pytest.mark.parametrize("scheme", ["https", "s3", "ftp"])
def test_a_password_in_a_uri_is_never_shown(verb, scheme, tmp_path, capsys):
    pytest.importorskip("distsvm.data.remote", reason="data by URI is not there yet")
    uri = f"{scheme}://somebody:{SECRET}@127.0.0.1:9/train.svm"
    arguments = {"train": ["--task", "multiclass", "--model", str(tmp_path / "m")]}
    given = arguments.get(verb, ["--model", str(tmp_path / "none")])
    assert main([verb, "--data", uri, *given]) != 0
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err


def test_a_password_in_a_uri_is_in_no_error_of_the_library():
    remote = pytest.importorskip("distsvm.data.remote", reason="data by URI is not there yet")
    assert remote is not None
    from distsvm import open_data

    with pytest.raises(DistSVMError) as caught:
        open_data(f"https://somebody:{SECRET}@127.0.0.1:9/train.svm").specs(1)[0].load()
    assert SECRET not in str(caught.value)
