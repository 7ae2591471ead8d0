"""Trees from end to end: train, predict, evaluate and inspect, on small files."""

import json
import xml.etree.ElementTree as xml

import pytest
from structured_files import Structured, run, told

from distsvm.cli import main
from distsvm.model import load_model
from distsvm.structures.trees.drawing import draw_tree
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.tree import Tree
from distsvm.structures.trees.tree_scores import is_flat, score_trees

QUICK = ["--executor", "serial", "--C-per-example", "1", "--rel-gap", "0.1"]


def train_words(data, model, *more):
    return ["train", "--task", "parse", "--data", data, "--model", model, *QUICK, *more]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("trees")
    trees = make_treebank(100, max_length=12, seed=0)
    train, test = trees[:70], trees[70:]
    paths = [str(home / name) for name in ("train.mrg", "test.mrg", "model")]
    write_treebank(paths[0], train)
    write_treebank(paths[1], test)
    assert main([str(word) for word in train_words(paths[0], paths[2], "-q")]) == 0
    return Structured(train, test, *paths)


@pytest.fixture(scope="module")
def expected(files):
    return load_model(files.model).predict([tree.sentence() for tree in files.test_examples])


def test_the_options_of_task_and_data_reach_the_model(files, capsys, tmp_path):
    more = ["--loss", "brackets", "--max-chain", "2", "--memory-mb", "64", "--max-length", "8",
            "--no-strip-functions"]  # fmt: skip
    out = run(capsys, *train_words(files.train, tmp_path / "m", *more)).out
    model = load_model(tmp_path / "m")
    assert (model.task.losses, model.task.max_chain, model.task.memory_mb) == ("brackets", 2, 64.0)
    assert model.task.longest == 8
    options = model.facts["data"]["options"]
    assert (options["max_length"], options["strip_functions"]) == (8, False)
    n_short = sum(len(tree.leaves()) <= 8 for tree in files.train_examples)
    assert f"{n_short} examples" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--order", "2"], "--order is for sequences, not for --task parse"),
        (["--class-weight", "balanced"], "--class-weight is for classes, not for --task parse"),
        (["--templates", "pos"], "--templates is for conll and conllu files, these are treebank"),
        (["--format", "conll"], "conll is no format of the task; expected treebank"),
        (["--loss", "hamming"], "--loss hamming: expected one of zero-one, brackets, f1"),
        (["--min-word-count", "3"], "--min-word-count is for grammars over words"),
        (["--words", "--min-word-count", "0"], "--min-word-count 0: expected a whole number ≥ 1"),
        (["--max-chain", "0"], "--max-chain 0: expected a whole number ≥ 1"),
        (["--max-length", "0"], "--max-length 0: expected a whole number ≥ 1"),
        (["--loss", "brackets", "--rescaling", "slack"], "--rescaling slack"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(files, capsys, tmp_path, more, message):
    err = run(capsys, *train_words(files.train, tmp_path / "m", *more), code=2).err
    assert message in err


def test_a_grammar_over_words_predicts_tags(files, capsys, tmp_path):
    model = tmp_path / "m"
    run(capsys, *train_words(files.train, model, "--words", "--min-word-count", "3"))
    assert load_model(model).task.min_word_count == 3
    found = told(capsys, "evaluate", "--model", model, "--data", files.test)
    assert found["f1"] > 0.5
    sentence = " ".join(word for word, _ in files.test_examples[0].sentence())
    words = ["predict", "--output", "-", "--tokens", "--text", sentence, "--model"]
    (line,) = run(capsys, *words, model).out.splitlines()
    assert " ".join(word for word, _ in Tree.parse(line).sentence()) == sentence
    assert "the grammar is over tags" in run(capsys, *words, files.model, code=2).err
    shown = told(capsys, "inspect", model, "--top", "1")
    assert shown["n_rules"] + shown["n_tag_rules"] == shown["dim"]
    assert "tag rules" in run(capsys, "inspect", model).out


def test_unbalanced_brackets_are_refused_with_their_place(files, capsys, tmp_path):
    bad = tmp_path / "bad.mrg"
    bad.write_text("(S (A a))\n  (S (A b)\n")
    for words in (
        train_words(bad, tmp_path / "m"),
        ["predict", "--model", files.model, "--data", bad, "--output", "-"],
    ):
        err = run(capsys, *words, code=3).err
        assert f"{bad}, line 2, column 3: this bracket is never closed" in err


def test_predictions_are_a_tree_a_line(files, expected, capsys, monkeypatch):
    words = ["predict", "--model", files.model, "--data", files.test, "--output", "-"]
    assert run(capsys, *words).out.splitlines() == [str(tree) for tree in expected]
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 500)
    assert run(capsys, *words).out.splitlines() == [str(tree) for tree in expected]


def test_trees_are_drawn_on_the_screen_and_as_svg(files, expected, capsys, tmp_path):
    words = ["predict", "--model", files.model, "--data", files.test]
    out = run(capsys, *words, "--draw").out
    assert out.startswith(f"{draw_tree(expected[0], 79)}\n\n")
    path = tmp_path / "trees.svg"
    said = run(capsys, *words, "--svg", path).out
    assert str(path) in said
    root = xml.parse(path).getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [" ".join(word for word, _ in tree.sentence()) for tree in expected]
    err = run(capsys, *words, "--svg", tmp_path, code=2).err
    assert f"--svg {tmp_path} is a folder" in err
    assert "--output is missing" in run(capsys, *words, code=2).err


def test_the_best_few_trees_come_with_their_scores(files, expected, capsys, tmp_path):
    words = ["predict", "--model", files.model, "--data", files.test, "--n-best", "2"]
    out = run(capsys, *words, "--output", "-").out
    blocks = [block.splitlines() for block in out.strip().split("\n\n")]
    assert [block[0].split("\t")[1] for block in blocks] == [str(tree) for tree in expected]
    for block in blocks:
        scores = [float(line.split("\t")[0]) for line in block]
        assert scores == sorted(scores, reverse=True)
    assert "leave out --draw" in run(capsys, *words, "--draw", code=2).err


def test_evaluate_gives_the_scores_of_evalb(files, expected, capsys, monkeypatch):
    words = ["evaluate", "--model", files.model, "--data", files.test]
    found, score = told(capsys, *words), score_trees(files.test_examples, expected)
    assert (found["precision"], found["recall"]) == (score.precision, score.recall)
    assert (found["f1"], found["exact_match"]) == (score.f1, score.exact_match)
    assert (found["n_examples"], found["n_outside"]) == (30, 0)
    assert f"{score.f1:.4f}, of labelled brackets" in run(capsys, *words).out
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 500)
    assert told(capsys, *words) == found | {"mean_loss": pytest.approx(found["mean_loss"])}


def test_sentences_outside_the_grammar_are_counted(files, capsys, tmp_path):
    path = tmp_path / "strange.mrg"
    path.write_text(f"{files.test_examples[0]}\n(S (XX strange) (YY words))\n")
    words = ["--model", files.model, "--data", path]
    said = run(capsys, "evaluate", *words)
    assert "1 sentence (50 %) outside the grammar" in said.out
    assert "1 of 2 sentences are outside the grammar" in said.err
    assert "(TOP (XX strange) (YY words))" in run(capsys, "predict", *words, "--output", "-").out


def test_what_limited_training_limits_neither_predictions_nor_scores(files, capsys, tmp_path):
    model, out = tmp_path / "m", tmp_path / "out.txt"
    run(capsys, *train_words(files.train, model, "--max-length", "8"))
    words = ["--model", model, "--data", files.test]
    sentences = [tree.sentence() for tree in files.test_examples]
    assert max(map(len, sentences)) > 8
    run(capsys, "predict", *words, "--output", out)
    found = [Tree.parse(line) for line in out.read_text().splitlines()]
    assert [[word for word, _ in tree.sentence()] for tree in found] == [
        [word for word, _ in sentence] for sentence in sentences
    ]
    n_flat = sum(is_flat(tree) for tree in found)
    assert told(capsys, "predict", *words, "--output", out)["n_fallbacks"] == n_flat
    scores = told(capsys, "evaluate", *words)
    assert (scores["n_examples"], scores["n_outside"]) == (len(sentences), n_flat)
    assert "--max-length" in run(capsys, "predict", *words, "--max-length", "8", "--output", out,
                                 code=2).err  # fmt: skip


def test_evaluate_says_how_many_sentences_a_given_limit_leaves_out(files, capsys):
    words = ["evaluate", "--model", files.model, "--data", files.test, "--max-length", "8"]
    n_long = sum(len(tree.sentence()) > 8 for tree in files.test_examples)
    found = told(capsys, *words)
    assert (found["n_examples"], found["n_left_out"]) == (30 - n_long, n_long)
    assert f"without {n_long} longer ones (--max-length)" in run(capsys, *words).out


def test_a_note_says_how_many_predictions_stand_in_for_a_tree(files, capsys, tmp_path):
    path = tmp_path / "strange.mrg"
    path.write_text(f"{files.test_examples[0]}\n(S (XX strange) (YY words))\n")
    words = ["predict", "--model", files.model, "--data", path, "--output", "-"]
    assert "1 of 2 predictions: flat, as the sentence" in run(capsys, *words).err


def test_inspect_shows_the_grammar_and_its_strongest_rules(files, capsys):
    found = told(capsys, "inspect", files.model, "--top", "1")
    model = load_model(files.model)
    ((rule, weight),) = found["top_rules"]["for"]
    assert (rule, weight) == (model.task.grammar.rules[model.w.argmax()], model.w.max())
    assert found["n_rules"] == model.task.dim
    text = run(capsys, "inspect", files.model).out
    assert f"{model.task.dim} rules over" in text
    assert rule in text


def test_trees_in_jsonl_are_trained_on_predicted_and_scored(files, expected, capsys, tmp_path):
    for name, trees in (("train", files.train_examples), ("test", files.test_examples)):
        lines = [json.dumps({"x": tree.sentence(), "y": str(tree)}) for tree in trees]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    model, test = tmp_path / "m", tmp_path / "test.jsonl"
    run(capsys, *train_words(tmp_path / "train.jsonl", model))
    for used in (model, files.model):  # the model of files in brackets, too
        run(capsys, "predict", "--model", used, "--data", test, "--output", tmp_path / "out")
        assert len((tmp_path / "out").read_text().splitlines()) == len(expected)
        assert told(capsys, "evaluate", "--model", used, "--data", test)["n_examples"] == 30
    assert told(capsys, "evaluate", "--model", model, "--data", files.test)["n_examples"] == 30
