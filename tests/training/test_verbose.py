"""What a run in Python says: rounds where they are wanted, and a short repr."""

import logging

import distsvm
from distsvm import MulticlassSVC, MulticlassTask
from distsvm.data.synthetic import make_multiclass

X, Y = make_multiclass(60, 4, 3, seed=0)
FEW = {"max_rounds": 4, "executor": "serial"}


def test_verbose_prints_rounds_to_stderr_where_logging_is_not_set_up(capsys):
    result = MulticlassSVC(verbose=1, **FEW).fit(X, Y).result_
    out, err = capsys.readouterr()
    assert out == ""
    *rounds, end = err.splitlines()
    fresh = [record.number for record in result.history if record.kind == "fresh"]
    assert [int(line.split()[1]) for line in rounds] == fresh
    assert end.startswith(f"ended by {result.stop_reason}: ")
    result = MulticlassSVC(verbose=2, **FEW).fit(X, Y).result_
    assert len(capsys.readouterr().err.splitlines()) == result.n_rounds + 1
    MulticlassSVC(**FEW).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_verbose_leaves_the_rounds_to_logging_where_it_is_set_up(capsys, caplog):
    with caplog.at_level(logging.INFO, "distsvm"):
        MulticlassSVC(verbose=1, **FEW).fit(X, Y)
    assert "round 1 fresh" in caplog.text
    assert capsys.readouterr().err == ""


def test_the_repr_of_a_result_is_a_few_lines():
    result = distsvm.train(MulticlassTask(), (X, Y), **FEW)
    text = repr(result)
    assert len(text.splitlines()) <= 3
    assert max(map(len, text.splitlines())) <= 120
    assert "≤ optimum ≤" in text
    assert result.stop_reason in text
    found = distsvm.path(MulticlassTask(), (X, Y), Cs=[1.0, 10.0], **FEW)
    assert len(repr(found)) <= 200
    assert len(repr(result.model)) <= 100
