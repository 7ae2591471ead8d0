"""`distsvm plan`: the figures of the model, for people and for machines."""

import json
import shutil

import numpy as np
import pytest

from distsvm import MulticlassTask, train
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


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """The folder of a short run of classes, whose data was in memory."""
    folder = tmp_path_factory.mktemp("plan") / "run"
    X, y = np.random.default_rng(0).normal(size=(600, 40)), np.arange(600) % 3
    train(MulticlassTask(), X, y, solver="one-slack", max_rounds=6, run_dir=folder)
    return folder


def planned(capsys, *words):
    assert main(["plan", *map(str, words), "--json"]) == 0, capsys.readouterr().err
    (told,) = map(json.loads, capsys.readouterr().out.splitlines())
    return told["problem"]


def test_a_run_tells_dimensions_oracle_time_and_bytes(run_dir, capsys):
    problem = planned(capsys, run_dir)
    result = json.loads((run_dir / "result.json").read_text())
    assert problem["examples"] == 600
    assert problem["dim"] == 3 * 41
    assert problem["cuts"] == result["n_cuts"]
    assert problem["example_bytes"] == result["memory"]["data"] / 600
    busy_s = sum(one["busy_s"] for one in result["activity"])
    assert 0 < problem["oracle_s"] < busy_s / 600


def test_options_replace_what_the_run_says(run_dir, capsys):
    own = planned(capsys, run_dir)
    words = ["--examples", "1e8", "--oracle-ms", "3", "--cuts", "9", "--nonzeros", "7"]
    changed = planned(capsys, run_dir, *words)
    expected = {"examples": 1e8, "oracle_s": 0.003, "cuts": 9, "nonzeros": 7.0}
    assert changed == own | expected


def test_the_plan_says_which_run_it_is_for(run_dir, capsys):
    assert main(["plan", str(run_dir)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"as in {run_dir}: 600 examples of ")
    assert "dim 123, " in first


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("result.json", "it has no result with the bytes of its examples: give --example-bytes"),
        ("history.jsonl", "it has no fresh round after its first, so no time of a call: give "
                          "--oracle-ms"),
        ("run.json", "is not the folder of a run: it has no run.json"),
    ],
)  # fmt: skip
def test_a_run_without_the_facts_is_refused_with_the_option_that_gives_them(
    lost, message, run_dir, tmp_path, capsys
):
    folder = tmp_path / "copy"
    shutil.copytree(run_dir, folder)
    (folder / lost).unlink()
    assert main(["plan", str(folder)]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("run.json", {"used": {"n_examples": 600, "dim": "long"}}),
        ("run.json", {"used": {"n_examples": 600, "dim": -1}}),
        ("result.json", {"memory": [1]}),
        ("result.json", {"n_cuts": None}),
        ("result.json", {"memory": {"data": "all", "cuts": 0}}),
    ],
)
def test_a_damaged_run_is_refused_by_the_name_of_its_file(file, damage, run_dir, tmp_path, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(run_dir, folder)
    found = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(found | damage))
    assert main(["plan", str(folder)]) != 0
    assert f"{folder / file} is damaged" in capsys.readouterr().err


def test_without_a_run_the_missing_options_are_named(capsys):
    assert main(["plan", "--dim", "10"]) == 2
    message = "or --examples, --dim and --oracle-ms; missing: --examples, --oracle-ms"
    assert message in capsys.readouterr().err
