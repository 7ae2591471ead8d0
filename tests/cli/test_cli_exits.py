"""Every kind of error has its exit code and is one line on standard error."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import contents, train_args

import distsvm.cli.train
from distsvm import errors
from distsvm.cli import exits, main
from distsvm.version import __version__


def error_line(capsys):
    """The one line on standard error."""
    text = capsys.readouterr().err
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if not line.startswith("distsvm: warning")]
    assert len(lines) == 1
    assert lines[0].startswith("distsvm: error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("odd"), 1),
        (OSError(28, "No space left on device"), 1),
        (errors.QPError("no"), 1),
        (errors.ConfigError("no"), 2),
        (errors.DataError("no"), 3),
        (errors.TaskError("no"), 4),
        (errors.WorkerLost("no"), 5),
        (errors.PlacementError("no"), 5),
        (errors.CheckpointError("no"), 6),
        (errors.ModelError("no"), 6),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_of_the_library_is_one_line_and_a_code(
    error, code, files, monkeypatch, capsys, tmp_path
):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(distsvm.cli.train, "train", fail)
    words = train_args(files.train, "--model", tmp_path / "m", "--quiet")
    assert main(words) == code
    line = error_line(capsys)
    assert str(error) in line
    assert ("--verbose" in line) == isinstance(error, RuntimeError)
    assert main([*words, "--verbose"]) == code
    assert "Traceback" in capsys.readouterr().err
    assert main([*words, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["kind"]) == ("error", type(error).__name__)
    assert told["exit_code"] == code


def test_every_error_of_the_library_has_a_code():
    types = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in types if issubclass(kind, errors.DistSVMError)]
    known = {errors.DistSVMError, errors.QPError}  # these have no better code than "unexpected"
    for kind in kinds:
        assert kind in known or exits.code_of_error(kind("x")) != exits.UNEXPECTED


@pytest.mark.parametrize(
    ("reason", "eps", "code"),
    [
        ("eps", 0.1, 0), ("rel_gap", 0.1, 0), ("validation", 0.1, 0), ("precision", 0.0, 0),
        ("precision", 0.1, 7), ("max_rounds", 0.1, 7), ("max_seconds", 0.1, 7),
        ("interrupted", 0.1, 130),
    ],
)  # fmt: skip
def test_the_end_of_a_run_has_a_code(reason, eps, code):
    assert exits.code_of_end(reason, eps) == code


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "invalid choice"),
        (["train"], "required: --task, --data"),
        (
            ["train", "--task", "multiclass", "--data", "a", "--C", "x"],
            "--C x: expected a number > 0",
        ),
        (["train", "--task", "multiclass", "--data", "a", "--max-rounds", "1.5"], "whole number"),
        (["train", "--task", "multiclass", "--data", "a", "--no-such"], "--no-such"),
        (["train", "--task", "multiclass", "--data", "a"], "give --model or --run-dir"),
        (["predict", "--model", "m"], "required"),
    ],
)
def test_bad_usage_is_one_line(words, message, capsys):
    assert main(words) == 2
    assert message in error_line(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--C", "-1"], "--C -1: expected a number > 0"),
        (["--eps", "-1"], "--eps -1: expected a number ≥ 0"),
        (["--workers", "0"], "--workers 0"),
        (["--stabilise", "2"], "--stabilise 2"),
        (["--solver", "magic"], "--solver magic"),
        (["--C", "1", "--C-per-example", "1"], "--C and --C-per-example are both given"),
        (["--workers", "3"], "--executor serial has one worker, but --workers is 3"),
        (["--class-weight", "9=1"], "--class-weight names 9"),
        (["--class-weight", "1=-1"], "--class-weight 1=-1: expected balanced, or LABEL=WEIGHT"),
        (["--loss-scale", "0"], "--loss-scale 0: expected a number > 0"),
        (["--intercept-scaling", "nan"], "--intercept-scaling nan: expected a number ≥ 0"),
        (["--format", "magic"], "--format magic"),
        (["--loss", "no-file"], "no such file"),
        (["--qp", "magic"], "--qp magic"),
        (["--address", "x", "--executor", "serial"], "--address needs --executor ray"),
    ],
)
def test_bad_configuration_is_one_line_in_words_of_the_options(
    words, message, files, capsys, tmp_path
):
    assert main(train_args(files.train, "--model", tmp_path / "m", "--quiet", *words)) == 2
    assert message in error_line(capsys)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--C", "-1"],
        ["--C", "1", "--C-per-example", "1"],
        ["--executor", "magic"],
        ["--executor", "serial", "--workers", "3"],
        ["--qp", "magic"],
        ["--format", "magic"],
        ["--loss-scale", "0"],
        ["--validation", "no-file.svm"],
        ["--run-dir", "FILE"],
        ["--run-dir", "FILE/run"],
        ["--run-dir", "RUN"],
        ["--run-dir", "MODEL"],
    ],
    ids=" ".join,
)
def test_options_are_refused_before_anything_is_said_or_loaded(
    words, files, capsys, tmp_path, monkeypatch
):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    places = {"FILE": files.train, "RUN": str(tmp_path / "run"), "MODEL": str(tmp_path / "m")}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    monkeypatch.setattr(distsvm.cli.train, "train", lambda *_, **__: pytest.fail("loads"))
    before = contents(tmp_path)
    assert main(train_args(files.train, "--model", tmp_path / "m", *words)) in (2, 3)
    read = capsys.readouterr()
    assert read.out == ""
    assert len(read.err.splitlines()) == 1
    assert contents(tmp_path) == before


@pytest.mark.parametrize("run", ["FILE", "FILE/run", "FILE/a/b"])
def test_a_run_cannot_be_kept_in_a_file(run, files, capsys):
    words = ["--run-dir", run.replace("FILE", files.train)]
    assert main(train_args(files.train, *words)) == 2
    assert error_line(capsys).endswith(f"{files.train} is not a folder")


@pytest.mark.parametrize(
    ("model", "run"),
    [
        ("m2", "m2"),
        ("m2", "./m2/"),
        ("m2", "other/../m2"),
        ("m2", "ABSOLUTE/m2"),
        ("m2", "link/m2"),
        ("link/m2", "m2"),
        ("m2", "m2/run"),
    ],
)
def test_the_model_needs_a_folder_apart_from_the_run(
    model, run, files, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    run = run.replace("ABSOLUTE", str(tmp_path))
    assert main(train_args(files.train, "--model", model, "--run-dir", run, "--quiet")) == 2
    assert f"--model {model} and --run-dir {run}: " in error_line(capsys)
    assert not (tmp_path / "m2").exists()


def test_a_model_may_lie_in_the_folder_of_its_run(files, tmp_path):
    run = tmp_path / "run"
    words = ["--run-dir", run, "--model", run / "model", "--quiet"]
    assert main(train_args(files.train, *words)) == 0
    assert (run / "model" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--executor", "foo"], "--executor foo: expected one of auto, serial"),
        (["--executor", "serial", "--workers", "3"], "but --workers is 3"),
        (["--workers", "0"], "--workers 0: expected"),
    ],
)
@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_where_to_run_is_checked_though_one_piece_runs_here(verb, words, message, files, capsys):
    out = ["--output", "-"] if verb == "predict" else []
    assert main([verb, "--model", files.model, "--data", files.test, *out, *words]) == 2
    assert message in error_line(capsys)


def test_where_to_resume_is_checked_with_what_the_run_had(files, capsys, tmp_path):
    run = str(tmp_path / "run")
    assert main(train_args(files.train, "--run-dir", run, "--quiet", "--max-rounds", "2")) == 7
    capsys.readouterr()
    assert main(["resume", run, "--workers", "3"]) == 2
    assert "--executor serial has one worker, but --workers is 3" in error_line(capsys)


def test_the_demo_refuses_a_folder_before_it_begins(files, capsys):
    assert main(["demo", "--keep", files.train]) == 2
    assert f"--keep {files.train}: " in error_line(capsys)


def test_a_file_of_unknown_kind_is_told_the_option(files, capsys, tmp_path):
    path = tmp_path / "data.unknown"
    shutil.copy(files.train, path)
    assert main(train_args(path, "--model", tmp_path / "m")) == 3
    line = error_line(capsys)
    assert "give --format" in line
    assert "format=" not in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n2 1:x\n", "bad.svm, line 2: found '1:x'"),
        ("1 1:2\n2 1:nan\n", "bad.svm, line 2"),
        ("1 1:2\n1 1:3\n", "one class"),
        ("", "bad.svm"),
    ],
    ids=["malformed", "nan", "one class", "empty"],
)
def test_bad_data_is_one_line(text, message, capsys, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(text)
    assert main(train_args(path, "--model", tmp_path / "m", "--quiet")) == 3
    assert message in error_line(capsys)


def test_missing_data_and_unknown_labels_are_bad_data(files, capsys, tmp_path):
    assert main(train_args(tmp_path / "no.svm", "--model", tmp_path / "m", "--quiet")) == 3
    assert "no such file" in error_line(capsys)
    strange = tmp_path / "strange.svm"
    strange.write_text("7 1:1\n")
    assert main(["evaluate", "--model", files.model, "--data", str(strange)]) == 0
    assert "training did not see count as wrong: 1, of '7'" in " ".join(capsys.readouterr())
    strange.write_text("1 99:1\n")
    out = str(tmp_path / "out")
    assert main(["predict", "--model", files.model, "--data", str(strange), "--output", out]) == 3
    assert "features" in error_line(capsys)
    assert not Path(out).exists()


def test_a_damaged_model_cannot_be_used(files, capsys, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(files.model, model)
    (model / "arrays.npz").write_bytes(b"nothing")
    words = ["--model", str(model), "--data", files.test]
    assert main(["evaluate", *words]) == 6
    assert "damaged" in error_line(capsys)
    assert main(["inspect", str(tmp_path)]) == 6
    assert "neither a model nor" in error_line(capsys)
    assert main(["inspect", str(tmp_path / "missing")]) == 6
    assert "does not exist" in error_line(capsys)
    assert main(["resume", str(tmp_path)]) == 6
    error_line(capsys)


def test_what_is_not_a_model_is_never_overwritten(files, capsys, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    before = contents(tmp_path)
    for target in (precious, precious / "thesis.txt"):
        assert main(train_args(files.train, "--model", target, "--force", "--quiet")) == 2
        assert "not a model" in error_line(capsys)
    assert contents(tmp_path) == before


def test_a_model_is_replaced_only_by_force(files, capsys, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(files.model, model)
    before = contents(model)
    assert main(train_args(files.train, "--model", model, "--C", "3", "--quiet")) == 2
    assert "--force" in error_line(capsys)
    assert contents(model) == before
    assert main(train_args(files.train, "--model", model, "--C", "3", "--quiet", "--force")) == 0
    assert contents(model) != before


def test_help_and_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"distsvm {__version__}\n"
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for code in exits.MEANINGS:
        assert f"{code}  " in text
    assert main([]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--tsak", "x"], "unrecognized arguments: --tsak; the nearest is '--task'"),
        (["train", "--data=x", "--tsak=y"], "unrecognized arguments: --tsak; the nearest"),
        (["resume", "r", "--max-round", "3"], "--max-round; the nearest is '--max-rounds'"),
        (
            ["train", "--task=multiclass", "--data=x", "--C", "1", "c.toml"],
            "c.toml: a configuration stands right behind the verb",
        ),
    ],
)
def test_a_typo_is_named_with_the_nearest_option(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from distsvm.cli import main; main(['--help']);"
        "print({'numpy', 'numba', 'scipy', 'sklearn', 'ray'} & set(sys.modules), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "set()"


def test_a_reader_that_has_seen_enough_is_no_error(files):
    words = [sys.executable, "-m", "distsvm.cli", "predict", "--model", files.model,
             "--data", files.test, "--output", "-"]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
