"""Alignments from end to end: train, predict, evaluate, inspect and report, on small files."""

import json
import xml.etree.ElementTree as xml

import pytest
from structured_files import Structured, run, told

from distsvm import Alignment
from distsvm.cli import main
from distsvm.data.synthetic import make_alignments, write_fasta
from distsvm.model import load_model
from distsvm.structures.alignments.alignment import encoded
from distsvm.structures.alignments.drawing import draw_alignment, matrix_svg

QUICK = ["--executor", "serial", "--C-per-example", "1", "--rel-gap", "0.1"]
CLEAR = {"length": 30, "n_operations": 20, "n_decoys": 3, "shares": (0.7, 0.1, 0.1, 0.1)}


def train_words(data, model, *more):
    return ["train", "--task", "align", "--data", data, "--model", model, *QUICK, *more]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("alignments")
    paths = [str(home / name) for name in ("train.fasta", "test.fasta", "model")]
    parts = [list(zip(*make_alignments(30, **CLEAR, seed=seed), strict=True)) for seed in (0, 1)]
    for path, part in zip(paths, parts, strict=False):
        write_fasta(path, *zip(*part, strict=True))
    assert main([str(word) for word in train_words(paths[0], paths[2], "-q")]) == 0
    return Structured(*parts, *paths)


@pytest.fixture(scope="module")
def expected(files):
    return load_model(files.model).predict([x for x, _ in files.test_examples])


def test_the_options_of_the_task_reach_the_model(files, capsys, tmp_path):
    more = ["--alignment", "global", "--gaps", "affine", "--symmetric", "--alphabet",
            "ACDEFGHIKLMNPQRSTVWYX", "--loss-scale", "2"]  # fmt: skip
    lines = (json.dumps({"x": x, "y": y.candidate}) + "\n" for x, y in files.train_examples)
    (tmp_path / "train.jsonl").write_text("".join(lines))
    run(capsys, *train_words(tmp_path / "train.jsonl", tmp_path / "m", *more))
    task = load_model(tmp_path / "m").task
    assert (task.alignment, task.gaps, task.symmetric, task.loss_scale) == (
        "global",
        "affine",
        True,
        2,
    )
    assert task.letters[-1] == "X"
    assert task.n_unknown == 30


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--order", "2"], "--order is for sequences, not for --task align"),
        (["--loss", "f1"], "--loss f1: expected one of zero-one, residues"),
        (["--gaps", "none"], "--gaps none: expected one of linear, affine"),
        (["--alphabet", "AA"], "--alphabet AA: expected letters that differ"),
        (
            ["--format", "conll"],
            "conll is no format of the task; expected jsonl or fasta or stockholm",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(files, capsys, tmp_path, more, message):
    assert message in run(capsys, *train_words(files.train, tmp_path / "m", *more), code=2).err


def test_alignments_that_are_not_given_are_found_under_another_model(files, capsys, tmp_path):
    unknown = tmp_path / "unknown.fasta"
    examples = [(x, Alignment(y.candidate)) for x, y in files.train_examples]
    write_fasta(unknown, *zip(*examples, strict=True))
    words = ["--reference", files.model, "--start", files.model]
    run(capsys, *train_words(unknown, tmp_path / "m", *words))
    reference = load_model(files.model)
    assert (load_model(tmp_path / "m").task.reference == reference.w).all()
    err = run(capsys, *train_words(unknown, tmp_path / "n", "--reference", tmp_path), code=6).err
    assert str(tmp_path) in err


def test_letters_outside_the_alphabet_are_refused_with_their_place(files, capsys, tmp_path):
    bad = tmp_path / "bad.fasta"
    bad.write_text(">a native\nACD\n>b homologue\nACB\n>c decoy\nA\n")
    words = ["predict", "--model", files.model, "--data", bad, "--output", "-"]
    err = run(capsys, *words, code=3).err
    assert f"{bad}, line 1" in err
    assert "the letter 'B' at place 2" in err


def test_predictions_are_a_json_object_a_line(files, expected, capsys, monkeypatch):
    words = ["predict", "--model", files.model, "--data", files.test, "--output", "-"]
    shown = [json.dumps(encoded(y)) for y in expected]
    assert run(capsys, *words).out.splitlines() == shown
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 500)
    assert run(capsys, *words).out.splitlines() == shown


def test_alignments_are_drawn_on_the_screen_and_as_svg(files, expected, capsys, tmp_path):
    words = ["predict", "--model", files.model, "--data", files.test]
    out = run(capsys, *words, "--draw").out
    first = draw_alignment(files.test_examples[0][0], expected[0], width=79)
    assert out.startswith(f"{first}\n\n")
    path = tmp_path / "alignments.svg"
    assert str(path) in run(capsys, *words, "--svg", path).out
    texts = [e.text for e in xml.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert texts[: first.count("\n") + 1] == [row for row in first.split("\n") if row]


def test_evaluate_counts_homologues_and_pairs_of_letters(files, expected, capsys):
    found = told(capsys, "evaluate", "--model", files.model, "--data", files.test)
    pairs = zip((y for _, y in files.test_examples), expected, strict=True)
    right = [(set(y.pairs()), set(z.pairs())) for y, z in pairs if y.candidate == z.candidate]
    assert found["n_homologues_found"] == len(right)
    assert found["accuracy"] == pytest.approx(len(right) / 30)
    both = sum(len(a & b) for a, b in right)
    assert found["pair_recall"] == pytest.approx(both / sum(len(a) for a, _ in right))
    assert found["pair_precision"] == pytest.approx(both / sum(len(b) for _, b in right))
    assert "homologues" in run(capsys, "evaluate", "--model", files.model, "--data", files.test).out


def test_the_matrix_is_shown_written_for_blast_and_drawn(files, capsys, tmp_path):
    matrix, picture = tmp_path / "m.txt", tmp_path / "m.svg"
    words = ["inspect", files.model, "--top", "3", "--matrix", matrix, "--matrix-svg", picture]
    assert "for the first letter" in run(capsys, *words).out
    shown = told(capsys, "inspect", files.model)
    model = load_model(files.model)
    assert shown["matrix"] == model.task.matrix(model.w).tolist()
    n_cells = len(list(xml.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}rect")))
    assert n_cells == len(model.task.letters) ** 2
    rows = [line for line in matrix.read_text().splitlines() if not line.startswith("#")]
    assert rows[0].split() == list(model.task.letters)
    assert max(abs(int(cell)) for row in rows[1:] for cell in row.split()[1:]) <= 100


def test_the_report_of_a_run_draws_the_scores_of_its_model(files, capsys, tmp_path):
    run(capsys, *train_words(files.train, tmp_path / "m", "--run-dir", tmp_path / "run"))
    run(capsys, "report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    model = load_model(tmp_path / "m")
    assert page.count("<rect x=") >= len(model.task.letters) ** 2
    assert matrix_svg(model.task, model.w) in page
    (tmp_path / "run" / "model" / "arrays.npz").write_bytes(b"")
    run(capsys, "report", tmp_path / "run")
    assert "Scores of pairs" not in (tmp_path / "run" / "report.html").read_text()
