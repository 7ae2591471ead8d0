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
        (["--workers", "0"], "--workers 0: expected a whole number from 1 to 1e+06"),
        (["--workers", "20", "--examples", "10"], "--workers 20: expected at most one for each"),
        (["--dim", "-1"], "--dim -1: expected a number from 1 to 1e+15"),
        (["--dim", "1e308"], "--dim 1e308: expected a number from 1 to 1e+15"),
        (["--examples", "0.5"], "--examples 0.5: expected a number from 1 to 1e+15"),
        (["--examples", "1e308"], "--examples 1e308: expected a number"),
        (["--examples", "nan"], "--examples nan: expected a number"),
        (["--rounds", "-5"], "--rounds -5: expected a whole number from 1 to 1e+15"),
        (["--oracle-ms", "0"], "--oracle-ms 0: expected a number from 1e-09 to 1e+12"),
        (["--workers-per-node", "0"], "--workers-per-node 0: expected a whole number"),
        (["--nonzeros", "0"], "--nonzeros 0: expected a number"),
        (["--cuts", "0"], "--cuts 0: expected a whole number"),
        (["--example-bytes", "inf"], "--example-bytes inf: expected a number"),
        (["--constants", "speed=1"], "--constants: there is no 'speed'"),
        (["--constants", "call_s=1e300"], "--constants: call_s=1e+300: expected a number from"),
    ],
)
def test_what_cannot_be_planned_is_said(words, message, capsys):
    assert main([*WORDS, *words]) == 2
    assert message in capsys.readouterr().err


def test_the_ends_of_what_can_be_planned_are_planned(capsys):
    most = [f"--{name}=1e15" for name in ("examples", "dim", "example-bytes", "nonzeros")]
    words = ["plan", *most, "--oracle-ms=1e12", "--cuts=1000000000", f"--rounds={10**15}"]
    for constant in ("1e-15", "1e18"):
        given = ["--constants", f"call_s={constant},network_bytes_s={constant}"]
        assert main([*words, *given]) == 0, capsys.readouterr().err
    least = ["--examples=1", "--dim=1", "--oracle-ms=1e-9", "--example-bytes=1", "--nonzeros=1"]
    assert main(["plan", *least, "--cuts=1", "--rounds=1", "--workers=1"]) == 0
