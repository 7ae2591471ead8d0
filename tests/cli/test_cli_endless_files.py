"""Pipes and devices, which may have no end, are refused wherever an option names a file."""

import os

import pytest
from structured_files import run

WORDS = {
    "configuration": ["train", "FILE"],
    "data": ["train", "--task", "multiclass", "--run-dir", "r", "--data", "FILE"],
    "data with a format": ["train", "--task", "multiclass", "--run-dir", "r", "--format",
                           "svmlight", "--data", "FILE"],
    "validation": ["train", "--task", "multiclass", "--run-dir", "r", "--data", "DATA",
                   "--validation", "FILE"],
    "templates": ["train", "--task", "sequence", "--run-dir", "r", "--data", "DATA",
                  "--templates", "@FILE"],
    "loss": ["train", "--task", "multiclass", "--run-dir", "r", "--data", "DATA", "--loss", "FILE"],
    "names": ["inspect", "MODEL", "--names", "FILE"],
    "new data": ["predict", "--model", "MODEL", "--output", "-", "--data", "FILE"],
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("endless", ["pipe", "/dev/zero"])
def test_what_has_no_end_is_refused(name, endless, files, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = endless
    if endless == "pipe":
        path = str(tmp_path / "p.svm")
        os.mkfifo(path)
    given = {"FILE": path, "@FILE": f"@{path}", "DATA": files.train, "MODEL": files.model}
    code = 3 if "data" in name or name == "validation" else 2
    said = run(capsys, *(given.get(word, word) for word in WORDS[name]), code=code)
    assert "a regular file" in said.err
    assert path in said.err


@pytest.mark.parametrize("name", ["configuration", "templates", "loss", "names"])
def test_what_is_far_too_large_is_refused(name, files, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "large.toml"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no room on the disk
    given = {"FILE": path, "@FILE": f"@{path}", "DATA": files.train, "MODEL": files.model}
    said = run(capsys, *(given.get(word, word) for word in WORDS[name]), code=2)
    assert "it is larger than" in said.err
