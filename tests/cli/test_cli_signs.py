"""Control signs in labels, words and names: they steer no terminal, and break no line."""

import io
import json

import numpy as np
import pytest
from structured_files import run

from distsvm import train
from distsvm.cli import main
from distsvm.cli.formatting import MARK, Style, pairs, rendered, table
from distsvm.cli.output import Output, Screen
from distsvm.cli.signs import CONTROL, field, spelt
from distsvm.data.writers import write_svmlight
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask

ATTACK = "\x1b[31mred\x1b]0;title\x07\n\r\t\x85\x9b2J\u202egpj\u2066\u2028end"
QUICK = {"executor": "serial", "max_rounds": 3}


def is_harmless(text):
    """Whether nothing but newlines and tabs is left of control signs."""
    return not CONTROL.search(text.replace("\n", "").replace("\t", ""))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    home = tmp_path_factory.mktemp("signs")
    X = np.array([[1.0, 0], [0, 1], [2, 0], [0, 2]])
    labels = np.array([ATTACK, "b", ATTACK, "b"])
    train(MulticlassTask(), (X, labels), **QUICK).model.save(home / "m")
    write_svmlight(home / "a.svm", X, index_base=0)
    return home


def test_every_sign_is_spelt_out_and_all_else_stays():
    assert spelt("a\x1b\n\x9b\u202eé 漢\u200d") == "a\\x1b\\x0a\\x9b\\u202eé 漢\u200d"
    assert field("a\tb\u200fc") == "a\\x09b\u200fc"
    assert is_harmless(spelt(ATTACK + "\ud800"))


def test_styles_are_escapes_and_a_label_cannot_make_one():
    style = Style(True)
    assert rendered(style.bad("x")) == "\x1b[31mx\x1b[0m"
    assert rendered(style.bad("\x1b[0m")) == "\x1b[31m\\x1b[0m\x1b[0m"
    assert len(MARK) == 16
    assert is_harmless("".join(table(["a", ATTACK], [[ATTACK, "1"]])))
    assert is_harmless("".join(pairs([("name", ATTACK)])))


def test_a_line_that_is_drawn_again_keeps_its_styles():
    stream = io.StringIO()
    screen = Screen(stream)
    screen.draw([Style(True).bold("x") + ATTACK])
    with screen.aside():
        pass
    assert stream.getvalue().count("\x1b[1mx\x1b[0m") == 2
    assert "\x1b[31m" not in stream.getvalue()


@pytest.mark.parametrize("more", [[], ["--scores"]], ids=["labels", "scores"])
@pytest.mark.parametrize("target", ["-", "file"])
def test_predicted_labels_stay_one_a_line(model, capsys, tmp_path, more, target):
    path = tmp_path / "out.txt"
    words = ["predict", "--model", model / "m", "--data", model / "a.svm", *more]
    out = run(capsys, *words, "--output", "-" if target == "-" else path).out
    text = out if target == "-" else path.read_bytes().decode()
    n_columns = 3 if more else 1
    lines = text.removesuffix("\n").split("\n")
    assert [line.count("\t") + 1 for line in lines] == [n_columns] * (4 + bool(more))
    assert len(text.splitlines()) == len(lines)
    assert "\x1b" not in text
    assert target == "file" or is_harmless(text)


def test_predicted_tags_and_words_stay_one_a_line(tmp_path, capsys):
    tag, path = "T\x1b[2J\x85", tmp_path / "a.conll"
    path.write_text(f"w\x1b[1mx {tag}\ny b\n\n")
    model = train(
        SequenceTask(), str(path), data_options={"separator": " "}, C=100.0, **QUICK
    ).model
    model.save(tmp_path / "m")
    words = ["predict", "--model", tmp_path / "m", "--data", path, "--output", "-"]
    assert run(capsys, *words).out == "T\\x1b[2J\\x85 b\n"
    assert run(capsys, *words, "--columns").out == "w\\x1b[1mx\tT\\x1b[2J\\x85\ny\tb\n\n"
    assert is_harmless(run(capsys, "inspect", tmp_path / "m").out)


def test_inspect_evaluate_and_errors_spell_signs_out(model, capsys, tmp_path):
    said = run(capsys, "inspect", model / "m")
    assert is_harmless(said.out)
    assert "\\x1b[31mred" in said.out
    assert main(["inspect", str(tmp_path / ATTACK)]) != 0
    assert is_harmless(capsys.readouterr().err)


def test_names_of_folders_in_a_list_of_runs_spell_signs_out(tmp_path, capsys):
    home = tmp_path / "runs"
    name = "\x1b[31mr\u202e\nx"
    (home / name).mkdir(parents=True)
    (home / name / "run.json").write_text(json.dumps({"kind": "distsvm run"}))
    main(["runs", str(home)])
    said = capsys.readouterr()
    assert is_harmless(said.out + said.err)
    assert "\\x1b[31mr\\u202e\\x0ax" in said.out


def test_a_traceback_keeps_its_lines(capsys):
    Output().raw_error("one\n  two \x1b[2J\n")
    assert capsys.readouterr().err == "one\n  two \\x1b[2J\n"
