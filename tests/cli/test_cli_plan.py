"""`distsvm plan`: the figures of the model, for people and for machines."""

import json

import pytest

from distsvm.cli import main

WORDS = ["plan", "--examples", "1e8", "--dim", "1e7", "--oracle-ms", "3"]


def test_the_plan_is_shown_with_its_parts(capsys):
    assert main([*WORDS, "--workers", "512", "--rounds", "100"]) == 0
    out = capsys.readouterr().out
    for part in ("512 workers on 64 nodes", "the oracle, on every worker    9:46", "memory",
                 "network", "fastest", "economical", "100 in"):  # fmt: skip
        assert part in out
    assert max(map(len, out.splitlines())) <= 80


def test_without_workers_the_fastest_number_is_planned(capsys):
    assert main([*WORDS, "--json", "--constants", "call_s=0.01"]) == 0
    (told,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert told["plan"] == told["fastest"]
    assert told["constants"]["call_s"] == 0.01


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "--workers 0: expected 1 to one for each example"),
        (["--dim", "-1"], "dim=-1.0: expected a number > 0"),
        (["--constants", "speed=1"], "there is no 'speed'"),
    ],
)
def test_what_cannot_be_planned_is_said(words, message, capsys):
    assert main([*WORDS, *words]) == 2
    assert message in capsys.readouterr().err
