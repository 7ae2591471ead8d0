"""Sequences from end to end: train, predict, evaluate and inspect, on small files."""

import io
import json
import re

import numpy as np
import pytest
from structured_files import Structured, run, told

from distsvm.cli import main
from distsvm.data.synthetic import make_tagged_sentences, write_conll
from distsvm.data.templates import Templates
from distsvm.model import load_model
from distsvm.structures.sequences.tag_scores import score_tags

TEXT = "bias; word[-1..+1]; suffix(1..2)"
QUICK = ["--executor", "serial", "--C-per-example", "0.1", "--rel-gap", "0.1"]


def train_words(data, model, *more):
    return ["train", "--task", "sequence", "--data", data, "--model", model, *QUICK, *more]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("sequences")
    sentences = make_tagged_sentences(110, n_tags=4, seed=0, length=7)
    train, test = sentences[:70], sentences[70:]
    paths = [str(home / name) for name in ("train.conll", "test.conll", "model")]
    write_conll(paths[0], train)
    write_conll(paths[1], test)
    words = train_words(paths[0], paths[2], "--templates", TEXT, "-q")
    assert main([str(word) for word in words]) == 0
    return Structured(train, test, *paths)


@pytest.fixture(scope="module")
def expected(files):
    """The predictions, with features made in memory."""
    templates = Templates.parse(TEXT)
    inputs = [templates.features(words) for words, _ in files.test_examples]
    return load_model(files.model).predict(inputs)


def conllu(path, sentences):
    """Sentences as CoNLL-U; the tag is upos."""
    lines = []
    for words, tags in sentences:
        rows = zip(range(1, len(words) + 1), words, tags, strict=True)
        lines += [f"{i}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_" for i, word, tag in rows]
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


# --- train ---------------------------------------------------------------------------------


def test_the_planes_that_the_workers_hold_are_told(files, capsys, tmp_path):
    words = train_words(files.train, tmp_path / "m", "--templates", TEXT, "--force")
    roomy = " ".join(run(capsys, *words).out.split())
    assert re.search(r"planes [\d,]+, of them [\d,]+ support, in", roomy)
    assert "refused" not in roomy
    words += ["--plane-memory", "0.04", "--rel-gap", "0.001", "--max-rounds", "30"]
    result = json.loads(run(capsys, *words, "--json", code=7).out.splitlines()[-1])
    assert 0 < result["n_support_planes"] <= result["n_planes"]
    assert 0 < result["memory"]["planes"] <= 0.04 * 2**20
    assert result["n_refused_planes"] > 0
    tight = " ".join(run(capsys, *words, code=7).out.split())  # lines are broken anywhere
    assert f"refused planes {result['n_refused_planes']:,}: planes refused" in tight


def test_the_options_of_the_task_reach_the_model(files, capsys, tmp_path):
    more = ["--loss", "zero-one", "--loss-scale", "2", "--order", "2", "--min-count", "2",
            "--unfit", "drop", "--allowed", "bio"]  # fmt: skip
    run(capsys, *train_words(files.train, tmp_path / "m", *more))
    task = load_model(tmp_path / "m").task
    assert (task.losses, task.loss_scale, task.order) == ("zero-one", 2.0, 2)
    assert (task.min_count, task.unfit, task.allowed) == (2, "drop", "bio")


def test_hashed_features_need_no_dictionary(files, capsys, tmp_path):
    run(capsys, *train_words(files.train, tmp_path / "m", "--hash-bits", "8"))
    task = load_model(tmp_path / "m").task
    assert (task.n_features, task.dictionary) == (256, None)
    found = told(capsys, "evaluate", "--model", tmp_path / "m", "--data", files.test)
    assert found["token_accuracy"] > 0.5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--scale"], "--scale is for classes, not for --task sequence"),
        (["--max-chain", "3"], "--max-chain is for trees, not for --task sequence"),
        (["--max-length", "3"], "--max-length is for treebank files, these are conll"),
        (["--label-column", "y", "--format", "conll"], "--label-column is for parquet files"),
        (["--format", "conllu", "--word", "1"], "--word is for conll files, these are conllu"),
        (["--format", "svmlight"], "svmlight is no format of the task; expected conll or"),
        (["--loss", "f1"], "--loss f1: expected one of hamming, zero-one"),
        (["--order", "3"], "--order 3: expected one of 1, 2"),
        (["--hash-bits", "99"], "--hash-bits 99: expected a whole number from 1 to 30"),
        (["--min-count", "2", "--hash-bits", "9"], "--min-count needs a dictionary"),
        (["--templates", "words"], "template 'words', position 1"),
        (["--tag", "0"], "--tag 0: the column is also read as a feature"),
        (["--tag", "upos"], "--tag upos: expected the number of a column"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(files, capsys, tmp_path, more, message):
    err = run(capsys, *train_words(files.train, tmp_path / "m", *more), code=2).err
    assert message in err
    assert not (tmp_path / "m").exists()


def test_a_template_file_is_read(files, expected, capsys, tmp_path):
    (tmp_path / "templates").write_text(TEXT.replace("; ", "\n"))
    run(capsys, *train_words(files.train, tmp_path / "m", "--templates",
                             f"@{tmp_path / 'templates'}"))  # fmt: skip
    assert load_model(tmp_path / "m").predict(files.test) == expected
    err = run(capsys, *train_words(files.train, tmp_path / "n", "--templates", "@missing"), code=2)
    assert "--templates @missing: the file cannot be read" in err.err


def test_forbidden_gold_tags_are_refused_or_left_out(capsys, tmp_path):
    sentences = [(["a", "b"], ["O", "B-X"]), (["c", "d"], ["O", "I-X"])] * 5
    write_conll(tmp_path / "t.conll", sentences)
    words = train_words(tmp_path / "t.conll", tmp_path / "m", "--allowed", "bio")
    told = "line 4, sentence 'c d' (example 1): tag 'I-X' after 'O' is not allowed"
    assert told in run(capsys, *words, code=3).err
    said = run(capsys, *words, "--unfit", "drop")
    assert "left out     5 examples" in said.out
    assert "5 of 10 examples" in said.err


def test_a_line_with_missing_columns_is_refused_with_its_place(files, capsys, tmp_path):
    bad = tmp_path / "bad.conll"
    bad.write_text("a\tT0\nb\tT1\n\nc\n")
    for words in (
        train_words(bad, tmp_path / "m"),
        ["evaluate", "--model", files.model, "--data", bad],
    ):
        err = run(capsys, *words, code=3).err
        assert f"{bad}, line 4: found 1 column" in err


def test_a_resumed_run_keeps_its_templates(files, capsys, tmp_path):
    words = ["train", "--task", "sequence", "--data", files.train, "--templates", TEXT,
             "--run-dir", tmp_path / "r", *QUICK]  # fmt: skip
    run(capsys, *words, "--max-rounds", "4", code=7)
    run(capsys, "resume", tmp_path / "r", "--max-rounds", "none")
    one, other = load_model(tmp_path / "r" / "model"), load_model(files.model)
    assert one.facts["data"] == other.facts["data"]
    assert one.task.dictionary.tolist() == other.task.dictionary.tolist()


# --- predict -------------------------------------------------------------------------------


def predicted(files, capsys, *more, data=None):
    words = ["predict", "--model", files.model, "--data", data or files.test, "--output", "-"]
    return run(capsys, *words, *more).out


def test_predictions_are_a_sentence_a_line(files, expected, capsys, monkeypatch):
    lines = [" ".join(tags) for tags in expected]
    assert predicted(files, capsys).splitlines() == lines
    # In many pieces, too, on any executor.
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 500)
    assert predicted(files, capsys, "--executor", "threads").splitlines() == lines


def test_words_without_tags_are_enough(files, expected, capsys, tmp_path):
    write_conll(tmp_path / "words.conll", [(words, None) for words, _ in files.test_examples])
    found = predicted(files, capsys, data=tmp_path / "words.conll")
    assert found.splitlines() == [" ".join(tags) for tags in expected]


def test_columns_are_a_conll_file_again(files, expected, capsys, tmp_path):
    out = predicted(files, capsys, "--columns")
    sentences = [words for words, _ in files.test_examples]
    write_conll(tmp_path / "expected.conll", zip(sentences, expected, strict=True))
    assert out == (tmp_path / "expected.conll").read_text()


def test_the_best_few_come_with_their_scores(files, expected, capsys):
    out = predicted(files, capsys, "--n-best", "3")
    blocks = [block.splitlines() for block in out.strip().split("\n\n")]
    assert [block[0].split("\t")[1].split() for block in blocks] == expected
    for block in blocks:
        scores = [float(line.split("\t")[0]) for line in block]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--scores"], "--scores is only for models of classes"),
        (["--draw"], "--draw is only for models of trees"),
        (["--n-best", "0"], "--n-best 0: expected a whole number ≥ 1"),
        (["--n-best", "2", "--columns"], "both given"),
    ],
)
def test_outputs_that_do_not_fit_are_refused_by_name(files, capsys, more, message):
    words = ["predict", "--model", files.model, "--data", files.test, "--output", "-", *more]
    assert message in run(capsys, *words, code=2).err


# --- evaluate ------------------------------------------------------------------------------


def test_evaluate_counts_what_numpy_counts(files, expected, capsys, monkeypatch):
    words = ["evaluate", "--model", files.model, "--data", files.test]
    found = told(capsys, *words)
    gold = [tags for _, tags in files.test_examples]
    scores = score_tags(gold, expected)
    assert (found["token_accuracy"], found["accuracy"]) == (scores.accuracy, scores.exact)
    score = load_model(files.model).evaluate(files.test)
    assert found["accuracy"] == found["sentence_accuracy"] == score.accuracy
    assert (found["n_examples"], found["n_tokens"]) == (40, scores.n_tokens)
    assert found["mean_loss"] == pytest.approx((scores.n_tokens - scores.n_correct) / 40)
    true, guess = (np.array([t for tags in side for t in tags]) for side in (gold, expected))
    names = ["T0", "T1", "T2", "T3"]
    confusion = [[np.sum((true == a) & (guess == b)) for b in names] for a in names]
    assert np.array_equal(found["confusion"], confusion)
    assert found["by_tag"][1]["recall"] == pytest.approx(confusion[1][1] / np.sum(confusion[1]))
    assert "entities" not in found
    text = run(capsys, *words).out
    assert re.search(f"tokens +{scores.accuracy:.4f} are right", text)
    assert re.search(f"accuracy +{scores.exact:.4f} of sentences", text)
    assert "true \\ predicted" in text
    monkeypatch.setattr("distsvm.model.PIECE_BYTES", 500)
    assert told(capsys, *words) == found


def test_entities_are_scored_where_tags_are_bio(capsys, tmp_path):
    sentences = [(["a", "b", "c"], ["B-X", "I-X", "O"]), (["c", "d"], ["O", "B-Y"])] * 10
    write_conll(tmp_path / "t.conll", sentences)
    run(capsys, *train_words(tmp_path / "t.conll", tmp_path / "m", "--templates", "word"))
    words = ["evaluate", "--model", tmp_path / "m", "--data", tmp_path / "t.conll"]
    found = told(capsys, *words)
    assert found["entities"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "n_entities": 20}
    assert found["by_type"]["Y"]["n_entities"] == 10
    assert "entity F1" in run(capsys, *words).out


def test_a_tag_that_training_did_not_see_counts_as_wrong_and_is_named(files, capsys, tmp_path):
    path = tmp_path / "new.conll"
    words, tags = files.test_examples[0]
    write_conll(path, [(words, tags), (words, ["T9", *tags[1:]])])
    command = ["evaluate", "--model", files.model, "--data", path]
    found, n_right = told(capsys, *command), _n_right(files, words, tags)
    first_right = _n_right(files, words, ["T9", *tags[1:]])
    assert found["token_accuracy"] == (n_right + first_right) / (2 * len(tags))
    assert found["unseen"] == {"T9": 1}
    assert "did not see count as wrong: 1, of 'T9' (1)" in run(capsys, *command).err


def _n_right(files, words, tags):
    features = Templates.parse(TEXT).features
    (guess,) = load_model(files.model).predict([features(words)])
    return sum(a == b for a, b in zip(guess, tags, strict=True))


def test_files_of_another_format_keep_the_templates(files, expected, capsys, tmp_path):
    path = conllu(tmp_path / "test.conllu", files.test_examples)
    words = ["--model", files.model, "--data", path]
    found = told(capsys, "evaluate", *words, "--tag", "upos")
    scores = score_tags([tags for _, tags in files.test_examples], expected)
    assert found["token_accuracy"] == scores.accuracy
    err = run(capsys, "evaluate", *words, code=3).err
    assert "column 4 has no tags, only _" in err


# --- plain text ----------------------------------------------------------------------------


def test_a_file_whose_columns_are_not_those_of_training_is_refused_by_line(files, capsys, tmp_path):
    path = tmp_path / "plain.conll"
    path.write_text("El presidente del Gobierno\n")
    words = ["--model", files.model, "--data", path]
    for command in (["predict", *words, "--output", "-"], ["evaluate", *words]):
        err = run(capsys, *command, code=3).err
        assert f"{path}, line 1: found 4 columns, expected 2 as in training" in err


def test_plain_sentences_are_tagged_from_text_files_and_standard_input(
    files, expected, capsys, tmp_path, monkeypatch
):
    lines = [" ".join(words) for words, _ in files.test_examples]
    path = tmp_path / "new.txt"
    path.write_text("\n".join(lines) + "\n")
    tagged = [" ".join(tags) for tags in expected]
    words = ["predict", "--model", files.model, "--output", "-"]
    assert run(capsys, *words, "--data", path, "--tokens").out.splitlines() == tagged
    assert run(capsys, *words, "--text", *lines[:2], "--tokens").out.splitlines() == tagged[:2]
    given = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr("sys.stdin", given)
    assert run(capsys, *words, "--data", "-", "--tokens").out.splitlines() == tagged
    columns = run(capsys, *words, "--text", lines[0], "--columns", "--tokens").out
    assert columns.splitlines()[0].split("\t") == [lines[0].split()[0], expected[0][0]]


def test_every_line_of_a_text_has_its_line_of_tags(files, capsys, tmp_path):
    path = tmp_path / "new.txt"
    path.write_text('Hi.\n\n"a b"')
    out = run(capsys, "predict", "--model", files.model, "--data", path, "--output", "-").out
    assert [len(line.split()) for line in out.split("\n")] == [2, 0, 4, 0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "--data or --text is required, and only one of them"),
        (["--text", "a", "--data", "b.txt"], "--data or --text is required, and only one of them"),
        (["--data", "-", "b.txt"], "--data - reads plain sentences from standard input"),
        (["--text", "a", "--format", "conll"], "--text and --data - are plain text"),
    ],
)
def test_what_is_no_plain_text_is_said(files, capsys, more, message):
    words = ["predict", "--model", files.model, "--output", "-", *more]
    assert message in run(capsys, *words, code=2).err


def test_plain_text_cannot_be_trained_on_or_scored(files, capsys, tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("a b\n")
    for words in (
        train_words(path, tmp_path / "m"),
        ["evaluate", "--model", files.model, "--data", path],
    ):
        assert "plain text has no true outputs" in run(capsys, *words, code=2).err


# --- inspect -------------------------------------------------------------------------------


def test_inspect_names_features_and_transitions(files, capsys):
    found = told(capsys, "inspect", files.model, "--top", "2")
    model = load_model(files.model)
    parts = model.task.parts(model.w)
    name, weight = found["top_features"][2]["for"][0]
    assert weight == parts.emissions[:, 2].max()
    assert name == model.task.dictionary.name(int(parts.emissions[:, 2].argmax()))
    name, weight = found["top_transitions"]["for"][0]
    assert weight == max(p.max() for p in (parts.transitions, parts.start, parts.end))
    assert name.count("→") == 1
    text = run(capsys, "inspect", files.model, "--top", "2").out
    for part in ("T0, T1, T2, T3", "by name", "hamming", "transitions", "tag T3", TEXT):
        assert part in text
    assert "--names is only for" in run(capsys, "inspect", files.model, "--names", "x", code=2).err
