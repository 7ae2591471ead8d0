"""Runs that earlier code left unfinished: their models predict, and they end, as that code did."""

import json

import pytest
from comparing import bounds_agree, other_arithmetic, plain, same_numbers
from interrupted_runs import ENDED, RUNS, STORED, end_of

every_run = pytest.mark.parametrize("run", RUNS, ids=str)


@pytest.fixture(scope="module")
def expected():
    return json.loads((STORED / "expected.json").read_text())


def test_every_run_is_stored_and_no_other(expected):
    folders = {path.name for path in STORED.iterdir()} - {"data", "expected.json"}
    assert folders == set(expected) - {"arithmetic"} == set(map(str, RUNS))


@every_run
def test_the_model_of_a_stored_run_predicts_as_it_did(run, tmp_path, expected):
    run.copy_stored(tmp_path)
    assert plain(run.predict(tmp_path)) == expected[str(run)]["predictions"]


@every_run
def test_a_stored_run_resumes_from_its_checkpoint(run, tmp_path, expected):
    run.copy_stored(tmp_path)
    folder = tmp_path / str(run)
    rounds = (folder / "history.jsonl").read_text().splitlines()
    (checkpoint,) = (folder / "checkpoints").iterdir()
    n_kept = int(checkpoint.name.removeprefix("round-"))
    result = run.resume(tmp_path)
    # Rounds that were made again would have other times.
    kept = [json.loads(line)["elapsed_s"] for line in rounds[:n_kept]]
    assert [record.elapsed_s for record in result.history[:n_kept]] == kept
    assert n_kept < result.n_rounds <= ENDED
    assert result.notes == []  # of planes that are missing
    assert bounds_agree(end_of(result)["bounds"], expected[str(run)]["end"]["bounds"])


# Multi-plane has asked and certified by other rules since: its runs end within the same bounds, as
# the test above says, after other rounds.
SAME_RULES = [run for run in RUNS if run.setting != "multi-plane"]


@pytest.mark.parametrize("run", SAME_RULES, ids=str)
def test_a_stored_run_ends_as_one_that_was_never_stopped(run, tmp_path, expected):
    if reason := other_arithmetic(expected["arithmetic"]):
        pytest.skip(reason)
    run.copy_stored(tmp_path)
    found, end = end_of(run.resume(tmp_path)), expected[str(run)]["end"]
    for name in ("stop_reason", "n_rounds", "n_oracle_calls"):
        assert found[name] == end[name]
    for name in ("bounds", "w"):
        assert same_numbers(found[name], end[name]), name
