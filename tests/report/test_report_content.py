"""What the report says: verdict, shares, defaults, and a run that was really made."""

import numpy as np
import pytest
from handmade_runs import record, write_run

import distsvm
from distsvm.report import write_report
from distsvm.report.bars import workers
from distsvm.report.tables import configuration, facts, shown
from distsvm.report.verdict import verdict
from distsvm.report.view import read_run

REASONS = {
    "eps": "Optimal to within eps",
    "rel_gap": "Optimal to within the relative gap asked for",
    "max_rounds": "Stopped at the limit of rounds",
    "max_seconds": "Stopped at the time limit",
    "validation": "Stopped early by the validation loss",
    "precision": "Stopped at the limit of precision",
    "interrupted": "Interrupted",
    "something new": "Stopped: something new",
}


@pytest.mark.parametrize("reason", REASONS)
def test_every_stop_reason_is_put_in_words(tmp_path, reason):
    folder = write_run(tmp_path / "run", result={"stop_reason": reason})
    assert f"<h2>{REASONS[reason]}</h2>" in verdict(read_run(folder))


def test_the_verdict_compares_gap_over_C_with_eps(tmp_path):
    close = read_run(write_run(tmp_path / "close", result={"gap": 5.0}))
    assert "<dd>0.005</dd><dd>≤ eps = 0.01</dd>" in verdict(close)
    far = read_run(write_run(tmp_path / "far", result={"gap": 50.0}))
    assert "<dd>0.05</dd><dd>&gt; eps = 0.01</dd>" in verdict(far)


def test_what_the_workers_hold_is_shown_by_the_labels_of_its_solver(tmp_path):
    def shown(name, n_refused):
        own = {"violation": 0.1, "n_support_planes": 1200, "n_refused_planes": n_refused}
        held = {"solver": "multi-plane", "own": own, "n_planes": 5000, "plane_bytes": 3 << 20}
        return verdict(read_run(write_run(tmp_path / name, [record(1, **held)])))

    roomy = shown("roomy", 0)
    assert "<dt>Planes</dt><dd>5,000</dd><dd>1,200 with α &gt; 0; 3 MB</dd>" in roomy
    assert "Cuts" not in roomy
    assert "Refused" not in roomy
    assert "<dt>Refused planes</dt><dd>17</dd>" in shown("tight", 17)


def test_columns_of_a_solver_that_is_not_installed_are_left_out(tmp_path):
    own = {"n_things": 3}
    page = verdict(read_run(write_run(tmp_path / "run", [record(1, solver="foreign", own=own)])))
    assert "n_things" not in page
    assert "Oracle calls" in page


def test_the_model_of_the_lowest_validation_loss_is_named(tmp_path):
    best = {"round": 7, "loss": 0.25, "accuracy": 0.9, "primal": 120.0, "exact": True}
    folder = write_run(tmp_path / "run", result={"best_validation": best, "primal": 120.0})
    assert "the w of round 7, with the lowest validation loss (0.25)" in verdict(read_run(folder))


def test_defaults_are_dimmed_and_say_what_they_came_to(tmp_path):
    folder = write_run(tmp_path / "run", config={"eps": 0.01, "rel_gap": 0.5})
    table = configuration(read_run(folder))
    assert '<tr><th scope="row">eps</th><td>0.01</td></tr>' in table
    assert '<tr class="dim"><th scope="row">C</th>' in table
    assert "used: 1,000" in table
    assert table.index(">rel_gap<") < table.index(">max_rounds<")


def test_busy_shares_are_those_of_the_last_session(tmp_path):
    first = [record(n, elapsed_s=100.0 + n, busy_s=(50.0 + n, 50.0 + n)) for n in range(1, 6)]
    second = [record(n, elapsed_s=100.0 + n, busy_s=(0.25 * (n - 5),)) for n in range(6, 11)]
    view = read_run(write_run(tmp_path / "run", first + second, result=False))
    assert [w.share for w in view.workers()] == [pytest.approx(0.25)]
    assert view.resumed
    assert "As the run began" in configuration(view)


def test_restarts_are_shown_with_few_workers_and_with_many(tmp_path):
    few = read_run(write_run(tmp_path / "few"))
    assert "1 shard, 1 restart" in workers(few)
    history = [record(1, busy_s=(0.1,) * 64, n_restarts=1)]
    many = read_run(write_run(tmp_path / "many", history))
    drawn = workers(many)
    assert drawn.count('<rect class="oracle"') == 64
    assert "Built again: worker 1 1×" in drawn


def test_long_lists_of_files_and_large_arrays_are_cut_short(tmp_path):
    paths = [f"part-{i}.svm" for i in range(1000)]
    losses = {"array": np.ones((300, 300)).tolist(), "dtype": "<f8"}
    task = {"task": "multiclass", "fields": {"losses": losses}}
    data = {"paths": paths, "options": {}}
    table = facts(read_run(write_run(tmp_path / "run", task=task, data=data)))
    assert "array of 300 × 300" in table
    assert "and 988 more" in table
    assert len(table) < 5000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "yes"), (0.25, "0.25"), ({}, "none"), ([], "none"),
        ({"tuple": [1, 2]}, "1, 2"), ({"dict": [["a", 1.5]]}, "a: 1.5"),
        ({"array": [1, 2], "dtype": "<i8"}, "1, 2"), ({"address": "auto"}, "address: auto"),
    ],
)  # fmt: skip
def test_values_are_shown_plainly(value, text):
    assert shown(value) == text


def test_a_run_that_was_really_made_is_reported(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(["ant", "bee", "cat"], 20)
    X[:, 0] += np.repeat([0, 2, 4], 20)
    result = distsvm.train(
        distsvm.MulticlassTask(), (X, y), validation=(X[::4], y[::4]), C=10.0, cache_size=2,
        executor="serial", max_rounds=4, run_dir=str(tmp_path / "run"),
    )  # fmt: skip
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert f"<dd>{result.n_oracle_calls}</dd>" in text
    assert "ant, bee, cat" in text
    assert 'id="validation"' in text


def test_the_report_shows_labels_and_no_internal_arrays(tmp_path):
    trained = distsvm.train(
        distsvm.SequenceTask(), [[["a"], ["b"]], [["b"]]], [["X", "Y"], ["Y"]], executor="serial",
        run_dir=tmp_path / "run", max_rounds=3,
    )  # fmt: skip
    assert trained.model.task.name_bytes is not None
    page = write_report(tmp_path / "run").read_text()
    assert "X, Y" in page
    for name in ("name_bytes", "name_starts"):
        assert name not in page
