"""Folders that somebody made to do harm: each attack by name, refused with an error of ours."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from folders import CASES, copied
from mutation import limited_memory
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm import load_model, storage
from distsvm.archives import read_npz
from distsvm.cli import main
from distsvm.errors import ModelError
from distsvm.report import write_report
from distsvm.storage import read_arrays, read_json, write_arrays
from distsvm.training.checkpoint import checkpoint_folders

BIG = 1 << 50


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a built-in task, with its case."""
    case, folder = CASES["classes"](), tmp_path_factory.mktemp("hostile") / "run"
    case.train(folder)
    return case, folder


@pytest.fixture(autouse=True)
def _bounded():
    with limited_memory():
        yield


# --- archives ------------------------------------------------------------------------------


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """An npy file whose header says whatever it is told to."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2, "little") + text + data


def said(shape: str, dtype: str = "<f8") -> str:
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}"


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return file.getvalue()


def overlapping(n: int) -> bytes:
    """One megabyte of zeros that n names in the directory claim each for itself."""
    member = npy(said("(131072,)"), bytes(1 << 20))
    whole = archive({f"a{i}.npy": member if i == 0 else b"" for i in range(n)})
    file = io.BytesIO(whole)
    with zipfile.ZipFile(file) as made:
        first = made.infolist()[0]
        for info in made.infolist()[1:]:
            info.header_offset, info.CRC = first.header_offset, first.CRC
            info.file_size = info.compress_size = first.file_size
            info.orig_filename = first.orig_filename
        made.mode, made._didModify = "a", True  # type: ignore[attr-defined]
        made.fp.seek(made.start_dir)
    return file.getvalue()


ARCHIVES = {
    "a packed bomb": archive(
        {"w.npy": npy(said("(131072,)"), bytes(1 << 20))}, zipfile.ZIP_DEFLATED
    ),
    "one block claimed by many": overlapping(64),
    "more numbers than there are": archive({"w.npy": npy(said(f"({BIG},)"))}),
    "sides that multiply to more": archive({"w.npy": npy(said(f"({BIG}, {BIG}, {BIG}, 0)"))}),
    "negative sides": archive({"w.npy": npy(said("(-1, -8)"), bytes(64))}),
    "values of no size": archive({"w.npy": npy(said(f"({BIG},)", "<U0"))}),
    "values of great size": archive({"w.npy": npy(said("(1,)", f"|V{BIG}"))}),
    "objects, which are pickles": archive({"w.npy": npy(said("(1,)", "|O"), b"\x80\x04N.")}),
    "structures": archive({"w.npy": npy(said("(1,)", "i4,O"), b"\x80\x04N.")}),
    "a header of code": archive({"w.npy": npy("__import__('os').system('true')")}),
    "a header of brackets": archive({"w.npy": npy("(" * 4000)}),
    "a header that never ends": archive({"w.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{"}),
    "a path to elsewhere": archive({"../../w.txt": b"x"}),
    "no archive": b"\x80\x04\x95" + bytes(100),
    "an array alone": npy(said("(1,)"), bytes(8)),
    "nothing": b"",
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_attacks_is_refused(name, tmp_path):
    path = tmp_path / "arrays.npz"
    path.write_bytes(ARCHIVES[name])
    with pytest.raises(ModelError, match=r"arrays\.npz is damaged"):
        print(read_arrays(path, ModelError))  # noqa: T201 (shown if it was read after all)


def test_what_was_saved_is_read_again(tmp_path):
    arrays = {
        "empty": np.zeros((0, 3)), "number": np.array(3), "texts": np.array(["a", "längst"]),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "flags": np.array([True]),
        "wide": np.zeros((1, 0, 2), np.int16), "other-endian": np.arange(3, dtype=">i4"),
    }  # fmt: skip
    digest = write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz", ModelError, digest)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert found[name].flags.writeable


def test_only_what_is_wanted_is_read():
    file = io.BytesIO()
    np.savez(file, w=np.zeros(1000), b=np.ones(2))
    assert [name for name, _ in read_npz(file, lambda name: name == "b")] == ["b"]


# --- JSON ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"a":' * 100_000, "1" * 10_000, "\xff", '{"a"', "nul", "\x00"],
    ids=["brackets", "objects", "digits", "bytes", "half", "word", "zero"],
)
def test_json_of_attacks_is_refused(text, tmp_path):
    path = tmp_path / "manifest.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError, match=r"manifest\.json is damaged"):
        read_json(path, ModelError)


def test_json_that_is_too_long_is_refused_without_reading_it_all(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_JSON_BYTES", 1000)
    path = tmp_path / "manifest.json"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no room on the disk
    with pytest.raises(ModelError, match="larger than"):
        read_json(path, ModelError)


# --- files that are none --------------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest.json", "arrays.npz"])
@pytest.mark.parametrize("what", ["pipe", "zeros", "folder"])
def test_what_is_no_file_is_not_waited_for(run, name, what, tmp_path):
    folder = copied(run[1] / "model", tmp_path / "model")
    path = folder / name
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "zeros":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(ModelError, match="not a regular file"):
        load_model(folder)


def test_the_names_in_a_checkpoint_lead_nowhere_else(run, tmp_path):
    """Files are found by their shard's number, never by a name that a file says."""
    earlier, folder = checkpoint_folders(copied(run[1], tmp_path / "run"))[-2:]
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["planes"] = ["../../../../etc/passwd", "/etc/passwd"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    result = run[0].train(tmp_path / "run", resume=True, max_rounds=6)
    assert "planes-00000.npz is damaged: its digest is not" in result.notes[0]
    assert f"resumed from {earlier.name} instead" in result.notes[0]


# --- code ----------------------------------------------------------------------------------


def test_a_model_of_a_task_of_ones_own_is_refused_without_its_class(tmp_path):
    X, y = toy_chains(8)
    result = distsvm.train(ToyChain(), X, y, executor="serial", max_rounds=2)
    result.model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="pass its class"):
        load_model(tmp_path / "m")
    assert load_model(tmp_path / "m", ToyChain).predict(X) == result.model.predict(X)


@pytest.mark.parametrize(
    "name", ["os.system", "subprocess.Popen", "toy_tasks.ToyChain", "builtins"]
)
def test_no_name_in_a_file_is_imported(run, name, tmp_path):
    folder = copied(run[1] / "model", tmp_path / "model")
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"task": name}))
    with pytest.raises(ModelError, match="not built in"):
        load_model(folder)


def test_what_a_model_says_of_itself_is_no_markup_in_the_report(run, tmp_path):
    folder = copied(run[1], tmp_path / "run")
    told = json.loads((folder / "run.json").read_text())
    told["data"] = {"paths": ["<script>alert(1)</script>"], "options": {"x": "<img src=x>"}}
    told["version"] = "<b onload=x>"
    (folder / "run.json").write_text(json.dumps(told))
    page = write_report(folder).read_text()
    for text in ("<script>alert", "<img src", "<b onload"):
        assert text not in page


def test_what_a_model_says_of_itself_does_not_steer_the_terminal(run, tmp_path, capsys):
    folder = copied(run[1] / "model", tmp_path / "model")
    manifest = json.loads((folder / "manifest.json").read_text())
    attack = "\x1b]0;a title\x07\x1b[2J\x9b5n\x00\r"
    manifest["facts"] |= {"stop_reason": attack, "certificate": attack}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert main(["inspect", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "a title" in shown
    assert not [sign for sign in shown if (ord(sign) < 32 and sign != "\n") or sign == "\x9b"]
