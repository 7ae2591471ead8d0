"""Taxonomies from end to end: train, predict, evaluate, inspect, path, report and resume."""

import json

import numpy as np
import pytest
from structured_files import run, told

from distsvm.cli import main
from distsvm.data.synthetic import make_taxonomy_data
from distsvm.model import load_model

QUICK = ["--executor", "serial", "--C", "20"]


def train_words(data, model, *more):
    return ["train", "--task", "taxonomy", "--data", data, "--model", model, *QUICK, *more]


def write_jsonl(path, X, y):
    lines = (json.dumps({"x": x, "y": label}) + "\n" for x, label in zip(X, y, strict=True))
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("taxonomies")
    X, y = make_taxonomy_data(90, 5, (3, 2), noise=1.0)
    write_jsonl(home / "train.jsonl", X[:60].tolist(), [path.split("/") for path in y[:60]])
    write_jsonl(home / "new.jsonl", X[60:].tolist(), y[60:].tolist())
    pairs = {path: path.split("/")[0] for path in y.tolist()}
    rows = [f"{path.replace('/', '-')}\t{above}" for path, above in sorted(pairs.items())]
    rows += [f"a{i}\ttop" for i in range(3)] + ["extra\ta0"]
    (home / "tree.tsv").write_text("\n".join(rows) + "\n")
    write_jsonl(home / "names.jsonl", X[:60].tolist(), [p.replace("/", "-") for p in y[:60]])
    words = train_words(home / "train.jsonl", home / "model", "-q", "--loss", "tree", "--run-dir",
                        home / "run")  # fmt: skip
    assert main([str(word) for word in words]) == 0
    return home, X[60:], y[60:]


def test_lists_of_levels_make_a_taxonomy_and_predictions_are_paths(files, capsys):
    home, X, _ = files
    task = load_model(home / "model").task
    assert (task.losses, task.class_features) == ("tree", "tree")
    words = ["predict", "--model", home / "model", "--data", home / "new.jsonl", "--output", "-"]
    found = run(capsys, *words).out.splitlines()
    assert found == load_model(home / "model").predict(X).tolist()
    table = run(capsys, *words, "--scores").out.splitlines()
    assert table[0].split("\t") == ["label", *task.labels.tolist()]
    assert [line.split("\t")[0] for line in table[1:]] == found


def test_names_in_the_data_are_predicted_as_paths_of_the_given_taxonomy(files, capsys, tmp_path):
    home, X, _ = files
    more = ["--taxonomy", home / "tree.tsv", "--class-features", "flat", "--scale"]
    run(capsys, *train_words(home / "names.jsonl", tmp_path / "m", *more))
    model = load_model(tmp_path / "m")
    assert "extra" in model.task.labels  # a leaf without examples
    words = ["predict", "--model", tmp_path / "m", "--data", home / "new.jsonl", "--output", "-"]
    found = run(capsys, *words).out.splitlines()
    assert [path.split("/")[1] for path in found] == model.predict(X).tolist()


def test_evaluate_tells_levels_tree_loss_and_hierarchical_scores(files, capsys):
    home, X, y = files
    words = ["evaluate", "--model", home / "model", "--data", home / "new.jsonl"]
    found = told(capsys, *words)
    predicted = load_model(home / "model").predict(X)
    top = [path.split("/")[0] for path in y] == np.array([p.split("/")[0] for p in predicted])
    right = y == predicted
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["accuracy_by_level"] == pytest.approx([top.mean(), right.mean()])
    assert found["tree_loss"] == pytest.approx(np.where(right, 0, np.where(top, 1, 2)).mean())
    assert found["mean_loss"] == pytest.approx(found["tree_loss"])
    assert found["h_f1"] == pytest.approx((top.mean() + right.mean()) / 2)
    shown = run(capsys, *words).out
    assert "by level" in shown
    assert "a2" in shown


def test_inspect_and_report_show_nodes(files, capsys, tmp_path):
    home, *_ = files
    found = told(capsys, "inspect", home / "model", "--top", "2")
    assert (found["n_nodes"], found["n_levels"], found["loss"]) == (9, 2, "tree")
    assert {node["path"] for node in found["top_nodes"]} <= {"a0", "a1", "a2"} | {
        f"a{i}/b{j}" for i in range(3) for j in range(2)
    }
    assert "9 nodes in 2 levels" in run(capsys, "inspect", home / "model").out
    run(capsys, "report", home / "run", "--output", tmp_path / "page.html")
    assert "a0/b1" in (tmp_path / "page.html").read_text()


def test_a_run_resumes_and_a_path_of_models_is_trained(files, capsys, tmp_path):
    home, *_ = files
    words = train_words(home / "train.jsonl", tmp_path / "m", "--run-dir", tmp_path / "run")
    run(capsys, *words, "--max-rounds", "1", "--checkpoint-rounds", "1", code=7)
    run(capsys, "resume", tmp_path / "run", "--max-rounds", "1000")
    assert load_model(tmp_path / "run").facts["certificate"] == "exact"
    words = ["path", "--task", "taxonomy", "--data", home / "train.jsonl", "--Cs", "1,10",
             "--validation", home / "new.jsonl", "--model", tmp_path / "best",
             "--executor", "serial"]  # fmt: skip
    run(capsys, *words)
    assert load_model(tmp_path / "best").task.class_paths[0] == "a0/b0"


@pytest.mark.parametrize(
    ("name", "text", "more", "message"),
    [
        ("t.tsv", "a\tb\nb\ta\n", ["--taxonomy"], "t.tsv, line 1: node 'a' is below itself"),
        ("t.tsv", "a\tx\nb\ty\n", ["--taxonomy"], "t.tsv, line 2: several roots, 'x' and 'y'"),
        ("t.tsv", "a\tx\nb\tx\n", ["--taxonomy"], "names.jsonl, line 1: label 'a"),
        ("t.json", '{"a": 1}', ["--taxonomy"], "t.json: below a is 1"),
        ("s.csv", "a,b\n1,2\n2,1\n", ["--similarities"], "not positive semidefinite"),
        ("g.tsv", "a\n", ["--glosses"], "g.tsv, line 1"),
        ("l.txt", "0 1\n1 x\n", ["--loss"], "line 2"),
    ],
)
def test_bad_files_are_refused_with_their_line(files, capsys, tmp_path, name, text, more, message):
    home, *_ = files
    data = home / "names.jsonl"
    if "semidefinite" in message:
        data = tmp_path / "two.jsonl"
        write_jsonl(data, [[1.0], [2.0]], ["a", "b"])
    (tmp_path / name).write_text(text)
    words = train_words(data, tmp_path / "m", *more, tmp_path / name)
    code = 2 if more[0] in ("--similarities", "--loss") else 3
    assert message in run(capsys, *words, code=code).err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--class-features", "round"], "--class-features round: expected one of tree, flat"),
        (["--depth-weights", "1,0"], "--depth-weights 1,0"),
        (["--loss", "leaf"], "--loss leaf: expected zero-one, tree, or a file"),
        (["--order", "2"], "--order is for sequences, not for --task taxonomy"),
        (["--solver", "sequential-dual"], "a weight vector each"),
    ],
)
def test_options_that_do_not_fit_are_refused(files, capsys, tmp_path, more, message):
    words = train_words(files[0] / "train.jsonl", tmp_path / "m", *more)
    assert message in run(capsys, *words, code=2).err
