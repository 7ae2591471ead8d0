"""The history of rounds: strict JSON, and what earlier versions wrote."""

import json
import math

import pytest
from run_examples import go

from distsvm.report import write_report
from distsvm.solvers.round import Round
from distsvm.training.history import NAME, read_history, written_history

UNKNOWN = {"best_primal": math.inf, "gap": math.inf, "dual": -math.inf}


def first_round(**changes):
    values = {
        "number": 1, "kind": "cached", "primal": None, "risk": None, "w_norm": 0.0,
        "n_oracle_calls": 0,        "n_cache_hits": 0, "n_planes": 0, "solver": "one-slack",
        "own": {"violation": math.inf, "slack": 0.0, "n_cuts": 1, "n_support_cuts": 1},
    }  # fmt: skip
    return Round(**values | UNKNOWN | changes)


def refused(name):
    raise AssertionError(f"{name} is not JSON")


def test_bounds_that_are_not_known_yet_are_null_and_come_back(tmp_path):
    written_history(tmp_path, [first_round()]).close()
    line = json.loads((tmp_path / NAME).read_text(), parse_constant=refused)
    assert {name: line[name] for name in UNKNOWN} == dict.fromkeys(UNKNOWN)
    assert read_history(tmp_path) == [first_round()]


def test_a_history_with_infinity_of_an_earlier_version_is_read(tmp_path):
    text = json.dumps(first_round().as_dict())
    assert "-Infinity" in text
    (tmp_path / NAME).write_text(text + "\n")
    assert read_history(tmp_path) == [first_round()]


@pytest.mark.parametrize("changes", [{"n_planes": None}, {"kind": None}, {"seconds": None}])
def test_null_where_no_number_can_be_missing_is_refused(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        Round.from_dict(first_round().as_dict() | changes)


def test_every_json_file_of_a_run_is_strict(tmp_path):
    go(tmp_path / "run", max_rounds=3)
    write_report(tmp_path / "run")
    files = [p for p in (tmp_path / "run").rglob("*.json*") if p.is_file()]
    assert len(files) >= 5
    for path in files:
        text = path.read_text()
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(part, parse_constant=refused)
