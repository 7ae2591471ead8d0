"""Outputs that a task does not allow: an error by name, or left out, counted, and never silent."""

import json
import logging

import numpy as np
import pytest
from parse_enumeration import grammar_of
from pieced import MEMORY_MB, write_packed

from distsvm import train
from distsvm.cli.words import SHELL
from distsvm.errors import DataError
from distsvm.report import page
from distsvm.report.view import read_run
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.grammar import rules_of
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.wording import message_of

TREES = make_treebank(90, max_length=10, seed=0)
GRAMMAR = grammar_of(TREES[8:20])
INSIDE = [i for i, tree in enumerate(TREES) if rules_of(tree).keys() <= set(GRAMMAR.rules)]


def parse_task(**more):
    return ParseTask("brackets", rules=GRAMMAR.rules, **more)


def tags(i):
    return ["A", "B"] * (i % 3 + 1) if i % 4 else ["B", "B", "A"]


WORDS = [[[f"w={tag}", f"i={i % 5}"] for tag in tags(i)] for i in range(60)]
TAGS = [tags(i) for i in range(60)]
LEGAL = [i for i in range(60) if i % 4]


def tag_task(**more):
    return SequenceTask(allowed=[("B", "B")], **more)


CASES = {
    "parse": (parse_task, [tree.sentence() for tree in TREES], TREES, INSIDE),
    "sequence": (tag_task, WORDS, TAGS, LEGAL),
}


def go(task, inputs, outputs, **more):
    config = {"C": 20.0, "eps": 0.01, "n_shards": 1, "executor": "serial"}
    return train(task, inputs, outputs, **config | more)


@pytest.fixture(params=CASES)
def case(request):
    make, inputs, outputs, kept = CASES[request.param]
    left_out = sorted(set(range(len(inputs))) - set(kept))
    assert left_out
    assert kept
    return make, inputs, outputs, kept, left_out


def test_the_first_is_refused_by_its_number(case):
    make, inputs, outputs, _, left_out = case
    for n_shards in (1, 4):
        with pytest.raises(DataError, match=f"example {left_out[0]}: "):
            go(make(), inputs, outputs, n_shards=n_shards)


def test_dropped_examples_leave_the_bits_of_training_without_them(case, caplog):
    make, inputs, outputs, kept, left_out = case
    with caplog.at_level(logging.WARNING):
        result = go(make(unfit="drop"), inputs, outputs)
    told = f"{len(left_out)} of {len(inputs)} examples have outputs that the task does not allow"
    assert told in caplog.text
    without = go(make(), [inputs[i] for i in kept], [outputs[i] for i in kept])
    assert (result.n_dropped, without.n_dropped) == (len(left_out), 0)
    assert np.array_equal(result.model.w, without.model.w)
    assert (result.primal, result.dual) == (without.primal, without.dual)
    assert result.n_oracle_calls == without.n_oracle_calls


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_the_optimum_is_that_of_the_others_on_any_shards_and_executor(case, executor):
    make, inputs, outputs, kept, left_out = case
    weight = np.random.default_rng(0).random(len(inputs)) + 0.5
    more = {"n_shards": 3, "cache_size": 3}
    result = go(make(unfit="drop"), inputs, outputs, weight=weight, **more)
    same = go(
        make(unfit="drop"), inputs, outputs, weight=weight, executor=executor, n_workers=2, **more
    )
    assert np.array_equal(result.model.w, same.model.w)
    assert same.n_dropped == len(left_out)
    without = go(make(), [inputs[i] for i in kept], [outputs[i] for i in kept], weight=weight[kept])
    assert max(result.dual, without.dual) <= min(result.primal, without.primal) + 1e-9


@pytest.mark.parametrize(
    "road", [{}, {"refresh_fraction": 0.3}, {"solver": "multi-plane"}], ids=str
)
def test_a_shard_may_lose_all_its_examples(case, tmp_path, road):
    make, inputs, outputs, kept, left_out = case
    order = [*left_out[:6], *kept]
    inputs, outputs = [inputs[i] for i in order], [outputs[i] for i in order]
    n_shards = len(order)  # one example each
    result = go(
        make(unfit="drop"), inputs, outputs, n_shards=n_shards, run_dir=str(tmp_path / "run"),
        **road,
    )  # fmt: skip
    assert result.n_dropped == 6
    assert result.stop_reason == "eps"
    again = go(
        make(unfit="drop"), inputs, outputs, n_shards=n_shards, run_dir=str(tmp_path / "run"),
        resume=True, **road,
    )  # fmt: skip
    assert np.array_equal(again.model.w, result.model.w)
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["used"]["n_examples"], run["used"]["n_dropped"]) == (len(kept), 6)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["n_dropped"] == 6
    assert "left out" in page(read_run(tmp_path / "run"))


def test_it_is_an_error_if_nothing_is_left(case):
    make, inputs, outputs, _, left_out = case
    n = len(left_out)
    with pytest.raises(DataError, match=f"{n} of {n} examples .* nothing is left"):
        go(
            make(unfit="drop"), [inputs[i] for i in left_out], [outputs[i] for i in left_out],
            n_shards=2,
        )  # fmt: skip


def test_validation_and_evaluation_drop_nothing_and_count_them_as_wrong(case):
    make, inputs, outputs, kept, left_out = case
    good = ([inputs[i] for i in kept], [outputs[i] for i in kept])
    bad = ([inputs[i] for i in left_out], [outputs[i] for i in left_out])
    result = go(make(), *good, validation=list(zip(*bad, strict=True)), max_rounds=5)
    assert result.best_validation["accuracy"] == 0.0
    score = result.model.evaluate(*bad, executor="serial")
    assert (score.n_examples, score.n_correct) == (len(left_out), 0)
    assert score.loss > 0


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
@pytest.mark.parametrize("kind", CASES)
def test_in_pieces_the_same_are_left_out(kind, solver, n_shards, tmp_path):
    make, _, outputs, kept = CASES[kind]
    if kind == "parse":
        data = write_packed(tmp_path, [f"{tree}\n" for tree in outputs], "mrg")
    else:
        lines = ["".join(f"{tag.lower()} {tag}\n" for tag in tags) + "\n" for tags in outputs]
        data = write_packed(tmp_path, lines, "conll")
    config = {"C": 20.0, "eps": 0.01, "n_shards": n_shards, "executor": "serial", "solver": solver}
    config |= {"cache_size": 0} if solver == "one-slack" else {}
    memory = train(make(unfit="drop"), data, **config)
    pieces = train(
        make(unfit="drop"),
        data,
        worker_memory_mb=MEMORY_MB,
        cache_dir=tmp_path / "packed",
        **config,
    )
    assert pieces.n_dropped == memory.n_dropped == len(outputs) - len(kept)
    assert pieces.stop_reason == memory.stop_reason == "eps"
    assert max(pieces.dual, memory.dual) <= min(pieces.primal, memory.primal)


def test_the_first_is_refused_by_file_line_and_sentence(tmp_path):
    good = "the O\ncat B-X\n\n"
    texts = [good * 3, f"{good}a O\nbig O\ndog I-X\n\n{good}"]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.conll").write_text(text)
    for n_shards in (1, 2):
        with pytest.raises(DataError) as told:
            train(SequenceTask(allowed="bio"), str(tmp_path), n_shards=n_shards, executor="serial")
        assert f"{tmp_path / '1.conll'}, line 4, sentence 'a big dog'" in str(told.value)
        assert "example 4" in str(told.value)
        assert "tag 'I-X' after 'O' is not allowed; unfit='drop' leaves" in str(told.value)
        assert "; --unfit drop leaves" in message_of(told.value).worded(SHELL)
