"""`distsvm path`: values, choices, records, plots, and what is refused."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from distsvm import path
from distsvm.cli import main
from distsvm.cli.path import values_of_C
from distsvm.cli.program import build_parser
from distsvm.data.dataset import TableData
from distsvm.model import load_model
from distsvm.structures.classes.task import MulticlassTask

SVG = "{http://www.w3.org/2000/svg}"


def words(files, *more):
    return ["path", "--task", "multiclass", "--data", files.train, "--executor", "serial",
            *(str(word) for word in more)]  # fmt: skip


def run(capsys, *args, code=0):
    capsys.readouterr()
    assert main(list(args)) == code
    return capsys.readouterr()


def test_a_path_says_what_every_value_took_and_what_was_chosen(files, capsys, tmp_path):
    out = run(capsys, *words(files, "--Cs", "1,0.1,10", "--validation", files.test, "--model",
                             tmp_path / "m")).out  # fmt: skip
    for part in ("value 1 of 3", "value 3 of 3", "300 examples", "gap/C", "oracle calls", "loss",
                 "accuracy", "chosen", "by validation", str(tmp_path / "m")):  # fmt: skip
        assert part in out
    assert "\x1b" not in out
    model = load_model(tmp_path / "m")
    expected = path(
        MulticlassTask(), files.train, Cs=[0.1, 1, 10], validation=files.test, executor="serial"
    )
    assert np.array_equal(model.w, expected.model.w)
    assert f"C = {expected.C:.6g}, by validation" in out


def test_json_is_one_record_a_value_and_then_the_path(files, capsys):
    text = run(capsys, *words(files, "--Cs", "0.1,1", "--validation", files.test, "--json")).out
    *points, last = [json.loads(line) for line in text.splitlines()]
    assert [(p["event"], p["number"], p["C"]) for p in points] == [
        ("point", 1, 0.1), ("point", 2, 1.0),
    ]  # fmt: skip
    assert all(p["dual"] <= p["primal"] for p in points)
    assert (last["event"], last["exit_code"], last["chosen_by"]) == ("path", 0, "validation")
    assert last["n_oracle_calls"] == sum(p["n_oracle_calls"] for p in points)
    assert last["points"][last["best"]]["C"] == last["C"]


def test_without_anything_to_choose_by_it_says_so(files, capsys):
    out = run(capsys, *words(files, "--from", 1, "--to", 100, "--count", 3)).out
    assert "nothing: there is no --validation and no --cv to choose by" in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  1")] == [
        "1", "10", "100",
    ]  # fmt: skip


def test_folds_are_shown_and_the_chosen_C_is_trained_on_all_data(files, capsys, tmp_path):
    out = run(capsys, *words(files, "--Cs", "0.1,100", "--cv", 3, "--model", tmp_path / "m")).out
    for part in ("fold 1 of 3", "fold 3 of 3", "on all data", "±", "by 3 folds", "refit"):
        assert part in out
    held = TableData(files.X, files.y)
    expected = path(MulticlassTask(), held, Cs=[0.1, 100], cv=3, executor="serial")
    assert load_model(tmp_path / "m").facts["C"] == expected.C


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("choice", ["cv", "validation", "none"])
def test_the_plot_shows_every_value(files, capsys, tmp_path, ending, choice):
    target = tmp_path / f"plot.{ending}"
    by = {"cv": ["--cv", 2], "validation": ["--validation", files.test], "none": []}[choice]
    run(capsys, *words(files, "--Cs", "0.1,1,10,100", "--plot", target, *by))
    text = target.read_text(encoding="utf-8")
    start, end = text.index("<svg"), text.index("</svg>") + 6
    drawing = ET.fromstring(text[start:end])
    n_panels = 1 if choice == "none" else 3
    assert len(drawing.findall(f"{SVG}circle")) == 4 * n_panels
    errors = [p for p in drawing.iter(f"{SVG}path") if p.get("class", "").startswith("error")]
    assert len(errors) == (2 * 4 * 3 if choice == "cv" else 0)
    assert len([p for p in drawing.iter(f"{SVG}path") if p.get("class") == "chosen"]) == (
        0 if choice == "none" else n_panels
    )
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text
    assert not list(tmp_path.glob(".*.part"))


def test_a_limit_ends_with_its_code(files, capsys):
    out = run(capsys, *words(files, "--Cs", "1,10", "--max-rounds", 1, "--eps", 0), code=7).out
    assert "max_rounds" in out


def test_quiet_says_nothing(files, capsys):
    said = run(capsys, *words(files, "--Cs", "1", "-q"))
    assert (said.out, said.err) == ("", "")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--Cs", "1,x"], "--Cs 1,x: expected numbers > 0"),
        (["--Cs", "1,-1"], "--Cs 1,-1: expected numbers > 0"),
        (["--Cs", "1", "--from", "1"], "--Cs gives all values"),
        (["--from", "1"], "--from and --to belong together"),
        (["--count", "3"], "--from and --to belong together"),
        (["--from", "3", "--to", "1"], "expected 0 < from ≤ to"),
        (["--from", "1", "--to", "3", "--count", "0"], "--count 0: expected a whole number ≥ 1"),
        (["--model", "m"], "--model needs --validation or --cv"),
        (["--model", "m", "--cv", "3", "--no-refit"], "there would be no model"),
        (["--plot", "a.png"], "in .svg or .html"),
        (["--cv", "1"], "--cv 1: expected a whole number ≥ 2"),
        (["--cv", "301"], "there are only 300 examples"),
        (["--C", "1"], "unrecognized arguments"),
        (["--run-dir", "r"], "unrecognized arguments"),
    ],
)
def test_bad_usage_is_refused_in_one_line(files, capsys, wrong, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    err = run(capsys, *words(files, *wrong), code=2).err
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_values_between_two_ends_grow_by_one_factor():
    line = ["path", "--task", "multiclass", "--data", "a.svm"]
    args = build_parser("path").parse_args([*line, "--from", "0.01", "--to", "100"])
    values = values_of_C(args)
    assert len(values) == 13
    np.testing.assert_allclose(np.diff(np.log(values)), np.log(1e4) / 12)
