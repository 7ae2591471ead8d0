"""Runs and models are their user's alone, unless the user allows more."""

import os
import stat

import pytest
from folders import CASES

from distsvm.cli import main
from distsvm.errors import ConfigError
from distsvm.report import write_report


@pytest.fixture(autouse=True)
def _open_umask():
    before = os.umask(0o002)
    yield
    os.umask(before)


def rights(home):
    """The modes of all folders, and of all files, from `home` on."""
    paths = [home, *home.rglob("*")]
    folders = {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()}
    return folders, {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()}


def made(home, **options):
    result = CASES["classes"]().train(home / "runs" / "first", max_rounds=2, **options)
    result.model.save(home / "models" / "first")
    write_report(home / "runs" / "first")
    return [home / "runs", home / "models"]


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_runs_and_models_are_closed_to_others(tmp_path, monkeypatch, executor):
    monkeypatch.delenv("DISTSVM_UMASK", raising=False)
    for home in made(tmp_path, executor=executor):
        assert rights(home) == ({0o700}, {0o600})


def test_distsvm_umask_opens_them_as_far_as_the_umask_does(tmp_path, monkeypatch):
    monkeypatch.setenv("DISTSVM_UMASK", "027")
    for home in made(tmp_path / "group"):
        assert rights(home) == ({0o750}, {0o640})
    monkeypatch.setenv("DISTSVM_UMASK", "000")
    for home in made(tmp_path / "all"):
        assert rights(home) == ({0o775}, {0o664})


def test_a_folder_that_is_there_keeps_its_rights(tmp_path, monkeypatch):
    monkeypatch.delenv("DISTSVM_UMASK", raising=False)
    (tmp_path / "runs").mkdir(0o755)
    (tmp_path / "runs").chmod(0o755)
    made(tmp_path)
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "runs" / "first").stat().st_mode) == 0o700


def test_a_file_that_was_asked_for_has_the_rights_that_the_umask_gives(tmp_path, monkeypatch):
    monkeypatch.delenv("DISTSVM_UMASK", raising=False)
    made(tmp_path)
    data = tmp_path / "some.svm"
    data.write_text("1:1 2:1\n")
    model, told = tmp_path / "models" / "first", tmp_path / "told"
    kept = tmp_path / "kept"
    kept.touch(0o600)
    for file in (told, kept):
        words = ["predict", "--model", model, "--data", data, "--output", file, "--quiet"]
        assert main(list(map(str, words))) == 0
    write_report(tmp_path / "runs" / "first", tmp_path / "pages" / "page.html")
    modes = [file.stat().st_mode for file in (told, tmp_path / "pages" / "page.html", kept)]
    assert [stat.S_IMODE(mode) for mode in modes] == [0o664, 0o664, 0o600]


@pytest.mark.parametrize("text", ["x", "-1", "777", "8"])
def test_a_mask_that_is_none_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("DISTSVM_UMASK", text)
    with pytest.raises(ConfigError, match=r"DISTSVM_UMASK=.*expected an octal number"):
        made(tmp_path)
