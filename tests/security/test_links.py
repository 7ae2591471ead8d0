"""Symbolic links in a run's folder: whoever made it, nothing is written or deleted behind one."""

import json
import os
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from folders import CASES, copied

from distsvm import load_model
from distsvm.cli import exits, main
from distsvm.cli.output import Output
from distsvm.cli.targets import written_file
from distsvm.errors import CheckpointError, StoreError
from distsvm.report import write_report
from distsvm.storage import write_arrays, write_json
from distsvm.training.run_folder import RunFolder

FILES = (
    "data.json",
    "history.jsonl",
    "lock.json",
    "report.html",
    "result.json",
    "state.json",
    "stop",
)
LEFT = "round-00000001"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    case, folder = CASES["classes"](), tmp_path_factory.mktemp("links") / "run"
    case.train(folder)
    return case, folder


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of somebody else's, with a file and what looks like a checkpoint of ours."""
    folder = tmp_path / "elsewhere"
    (folder / LEFT).mkdir(parents=True)
    for place in (folder, folder / LEFT):
        (place / "mine").write_text("mine")
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    """Every file with what is in it."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("ending", ["", ".part"], ids=["file", "aside"])
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_new_run_writes_through_no_link(run, elsewhere, tmp_path, ending, there):
    folder = tmp_path / "run"
    folder.mkdir()
    target = elsewhere / ("mine" if there else "none")
    for name in FILES:
        (folder / f"{name}{ending}").symlink_to(target)
    (folder / "run.json.part").symlink_to(target)
    before = seen(elsewhere)
    run[0].train(folder)
    write_report(folder)
    assert seen(elsewhere) == before
    assert load_model(folder / "model").facts["n_rounds"] == 4


@pytest.mark.parametrize("name", [*FILES, "run.json.part", "config.toml", "config.toml.part"])
def test_the_command_line_writes_through_no_link(name, elsewhere, tmp_path, capsys):
    data = tmp_path / "train.svm"
    data.write_text("1 1:1\n2 2:1\n1 1:2\n2 2:2\n")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to(elsewhere / "mine")
    before = seen(elsewhere)
    given = ["--task", "multiclass", "--data", str(data), "--executor", "serial"]
    code = main(["train", *given, "--max-rounds", "3", "--run-dir", str(folder)])
    assert code in (exits.DONE, exits.STOPPED_EARLY), capsys.readouterr().err
    assert seen(elsewhere) == before


@pytest.mark.parametrize("name", FILES)
def test_a_resumed_run_writes_through_no_link(run, name, elsewhere, tmp_path):
    folder = copied(run[1], tmp_path / "run")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(elsewhere / "mine")
    before = seen(elsewhere)
    with ExitStack() as refused:
        if name in ("data.json", "history.jsonl"):  # which are read, and damaged
            refused.enter_context(pytest.raises(CheckpointError, match=name))
        run[0].train(folder, resume=True, max_rounds=6)
    assert seen(elsewhere) == before


@pytest.mark.parametrize("resume", [True, False], ids=["resumed", "new"])
def test_checkpoints_behind_a_link_are_refused(run, elsewhere, resume, tmp_path):
    folder = tmp_path / "run"
    if resume:
        copied(run[1], folder)
        (folder / "checkpoints").rename(tmp_path / "moved")
    else:
        folder.mkdir()
    (folder / "checkpoints").symlink_to(elsewhere)
    before = seen(elsewhere)
    with pytest.raises(CheckpointError, match="checkpoints is a symbolic link"):
        run[0].train(folder, resume=resume, max_rounds=6, keep_checkpoints=1)
    assert seen(elsewhere) == before


@pytest.mark.parametrize(
    "name",
    ["model", ".model-x.part", f"checkpoints/{LEFT}", "checkpoints/.round-x.part"],
)
def test_a_linked_folder_is_replaced_or_unlinked_and_not_emptied(run, elsewhere, name, tmp_path):
    folder = copied(run[1], tmp_path / "run")
    if (folder / name).exists():  # the model itself, or nothing would take its place
        shutil.rmtree(elsewhere)
        (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    before = seen(elsewhere)
    run[0].train(folder, resume=True, max_rounds=6, keep_checkpoints=1)
    assert seen(elsewhere) == before
    assert not (folder / name).is_symlink()
    assert load_model(folder / "model").facts["n_rounds"] == 6


def test_a_stop_file_that_is_a_link_is_replaced(run, elsewhere, tmp_path):
    folder = copied(run[1], tmp_path / "run")
    holder = {"token": "x", "host": socket.gethostname(), "pid": os.getpid(), "born": None,
              "job": None}  # fmt: skip
    state = json.loads((folder / "state.json").read_text())
    (folder / "lock.json").write_text(json.dumps(holder))
    (folder / "state.json").write_text(json.dumps(state | holder | {"state": "running"}))
    (folder / "stop").symlink_to(elsewhere / "none")
    assert main(["stop", str(folder)]) == exits.DONE
    assert not (elsewhere / "none").exists()
    assert (folder / "stop").is_file()
    assert not (folder / "stop").is_symlink()


def test_a_link_in_the_place_of_a_file_is_replaced(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name, write in (("a.json", write_json), ("b.npz", write_arrays)):
        (tmp_path / name).symlink_to(victim)
        write(tmp_path / name, {})
        assert not (tmp_path / name).is_symlink()
    assert victim.read_text() == "mine"


def test_a_run_folder_may_itself_be_reached_by_a_link(run, tmp_path):
    folder = copied(run[1], tmp_path / "run")
    (tmp_path / "name").symlink_to(folder)
    assert run[0].train(tmp_path / "name", resume=True, max_rounds=6).n_rounds == 6
    assert RunFolder(folder).history()[-1].number == 6


@pytest.mark.parametrize("name", ["labels.txt", "trees.svg", "plot.svg"])
@pytest.mark.parametrize("as_link", [True, False], ids=["link", "file"])
def test_a_file_that_is_named_like_a_part_of_the_output_is_not_touched(
    name, as_link, elsewhere, tmp_path
):
    (tmp_path / "out").mkdir()
    target, waiting = tmp_path / "out" / name, tmp_path / "out" / f"{name}.part"
    if as_link:
        waiting.symlink_to(elsewhere / "mine")
    else:
        waiting.write_text("mine")
    with written_file(str(target), Output()) as file:
        file.write("new")
    assert (target.read_text(), waiting.read_text()) == ("new", "mine")
    assert {path.name for path in target.parent.iterdir()} == {name, waiting.name}


def test_an_output_that_fails_leaves_nothing_behind_and_the_old_file_as_it_was(tmp_path):
    target = tmp_path / "labels.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), written_file(str(target), Output()) as file:
        file.write(f"new {1 // 0}")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_text() == "old"


def test_all_writers_take_random_names_that_exist_nowhere(tmp_path, monkeypatch):
    waiting = iter(["taken", "free"])
    monkeypatch.setattr("distsvm.storage.secrets.token_hex", lambda n: next(waiting))
    (tmp_path / ".a.json-taken.part").symlink_to(tmp_path / "planted")
    with pytest.raises(StoreError, match="File exists"):
        write_json(tmp_path / "a.json", {})
    write_json(tmp_path / "a.json", {})
    assert not (tmp_path / "planted").exists()
    assert (tmp_path / "a.json").read_text() == "{}\n"
