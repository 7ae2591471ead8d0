"""The verbs from end to end, on small files."""

import json
import logging

import numpy as np
import pytest
from cli_files import blobs, train_args

from distsvm.cli import main
from distsvm.cli.output import Output
from distsvm.cli.streaming import over_pieces
from distsvm.data.dataset import TableData
from distsvm.data.writers import write_parts, write_svmlight
from distsvm.model import load_model
from distsvm.training.run_folder import RunFolder


def run(capsys, *words, code=0):
    """What a command wrote, checked to end with this code."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    return capsys.readouterr()


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


# --- train ---------------------------------------------------------------------------------


def test_train_ends_with_a_summary_and_a_model(files, capsys, tmp_path):
    out = run(capsys, *train_args(files.train, "--model", tmp_path / "m", "--C", "50")).out
    for part in ("exact: dual ≤ optimum ≤ primal", "primal", "dual", "gap/C", "gap/primal",
                 "the gap is at most C·eps", "rounds", "calls", "cuts", "support", "hinge loss",
                 "load", "oracle", "qp", str(tmp_path / "m"), "300 examples"):  # fmt: skip
        assert part in out
    assert "\x1b" not in out
    model = load_model(tmp_path / "m")
    assert model.facts["C"] == 50
    assert (model.predict(files.X_test) == files.y_test).mean() > 0.8


def test_quiet_says_nothing(files, capsys, tmp_path):
    said = run(capsys, "-q", *train_args(files.train, "--model", tmp_path / "m"))
    assert (said.out, said.err) == ("", "")


def test_json_is_one_object_a_round_and_then_the_result(files, capsys, tmp_path):
    words = train_args(
        files.train, "--model", tmp_path / "m", "--json", "--run-dir", tmp_path / "r"
    )
    start, *rounds, result = objects(run(capsys, *words).out)
    assert (start["event"], start["n_examples"], start["first_round"]) == ("start", 300, 1)
    assert {r["event"] for r in rounds} == {"round"}
    assert [r["number"] for r in rounds] == list(range(1, len(rounds) + 1))
    assert (result["event"], result["stop_reason"], result["exit_code"]) == ("result", "eps", 0)
    assert result["gap"] == pytest.approx(result["primal"] - result["dual"])
    assert result["gap"] <= result["C"] * result["eps"]
    assert result["model"] == str(tmp_path / "m")
    kept = [record.as_dict() for record in RunFolder(tmp_path / "r").history()]
    told = [{k: v for k, v in r.items() if k != "event"} for r in rounds]
    assert told == [record | {"busy_s": list(record["busy_s"])} for record in kept]


def test_the_hinge_loss_of_the_summary_is_that_of_the_model(files, capsys, tmp_path):
    words = train_args(files.train, "--model", tmp_path / "m", "--json", "--C", "20")
    told = objects(run(capsys, *words).out)[-1]["hinge_loss"]
    model = load_model(tmp_path / "m")
    V, bias = model.task.weights(model.w)
    scores = files.X @ V + bias
    truth = np.searchsorted(model.task.labels, files.y)
    rows = np.arange(len(truth))
    augmented = scores + 1.0
    augmented[rows, truth] -= 1.0
    assert told == pytest.approx((augmented.max(axis=1) - scores[rows, truth]).mean())


def test_a_limit_still_writes_the_model_and_says_how_to_go_on(files, capsys, tmp_path):
    words = train_args(files.train, "--run-dir", tmp_path / "r", "--max-rounds", "3")
    said = run(capsys, *words, code=7)
    assert "the limit of rounds" in said.out
    assert f"distsvm resume {tmp_path / 'r'} --max-rounds N" in said.err
    assert load_model(tmp_path / "r" / "model").facts["n_rounds"] == 3


def test_validation_and_start(files, capsys, tmp_path):
    words = train_args(files.train, "--model", tmp_path / "m", "--validation", files.test,
                       "--patience", "2", "--start", files.model)  # fmt: skip
    out = run(capsys, *words).out
    assert "validation" in out
    assert "whose w is the model" in out


def test_the_options_of_the_task_reach_the_model(files, capsys, tmp_path):
    costs = tmp_path / "costs"
    costs.write_text("0 1 2\n1 0 1\n2 1 0\n")
    run(capsys, *train_args(files.train, "--model", tmp_path / "m", "--loss", costs, "--scale",
                            "--no-intercept", "--loss-scale", "10", "--class-weight",
                            "balanced"))  # fmt: skip
    task = load_model(tmp_path / "m").task
    assert task.largest_loss == 20
    assert task.scaler is not None
    assert (task.intercept_scaling, task.class_weight) == (0.0, "balanced")


def test_a_warning_of_the_library_is_a_line_with_the_option_to_use(files, capsys, tmp_path):
    X, y = blobs(100, 3)
    X[:, 2] *= 1e5
    write_svmlight(tmp_path / "wide.svm", X, y)
    before = logging.getLogger("distsvm").handlers[:]
    err = run(capsys, *train_args(tmp_path / "wide.svm", "--model", tmp_path / "m")).err
    (line,) = [line for line in err.splitlines() if "badly scaled" in line]
    assert line.startswith("distsvm: warning: ")
    assert "--scale divides" in line
    assert logging.getLogger("distsvm").handlers == before


def test_verbose_logs_the_rounds(files, capsys, tmp_path):
    err = run(capsys, "-v", *train_args(files.train, "--model", tmp_path / "m", "--quiet")).err
    assert "distsvm: round 1 fresh" in err


# --- resume --------------------------------------------------------------------------------


def test_a_resumed_run_gives_the_same_bits(files, capsys, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run(capsys, *train_args(files.train, "--run-dir", whole))
    run(capsys, *train_args(files.train, "--run-dir", cut, "--max-rounds", "4"), code=7)
    again = run(capsys, "resume", cut, code=7)
    assert "the limit of rounds" in again.out
    out = run(capsys, "resume", cut, "--max-rounds", "none", "--executor", "threads",
              "--workers", "2", "--model", tmp_path / "m").out  # fmt: skip
    assert "the gap is at most C·eps" in out
    models = [load_model(path) for path in (whole / "model", cut / "model", tmp_path / "m")]
    assert len({model.w.tobytes() for model in models}) == 1


def test_a_run_on_weighted_parquet_files_is_resumed_with_its_columns(files, capsys, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    weight = np.random.default_rng(0).uniform(0.5, 2, len(files.y))
    columns = {f"f{j}": files.X[:, j] for j in range(4)}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns | {"kind": files.y.astype(str), "much": weight}), path)
    names = ["--label-column", "kind", "--weight-column", "much"]
    words = train_args(path, *names, "--validation", path, "--run-dir", tmp_path / "r")
    run(capsys, *words, "--max-rounds", "2", code=7)
    run(capsys, "resume", tmp_path / "r", "--max-rounds", "none")
    model = tmp_path / "r" / "model"
    labels = run(capsys, "predict", "--model", model, "--data", path, *names, "--output", "-").out
    assert set(labels.split()) == {"1", "2", "3"}
    # The same rows without label and weight, and with labels that the model does not know.
    for extra in ({}, {"kind": ["?"] * len(files.y)}):
        pq.write_table(pa.table(columns | extra), tmp_path / "u.parquet")
        words = ["--data", tmp_path / "u.parquet", *(names[:2] if extra else [])]
        assert run(capsys, "predict", "--model", model, *words, "--output", "-").out == labels
    told = run(capsys, "evaluate", "--model", model, "--data", path, *names, "--json").out
    assert objects(told)[0]["classes"] == ["1", "2", "3"]


# --- predict -------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_predictions_come_in_the_order_of_the_data(files, capsys, tmp_path, executor, monkeypatch):
    X, y = blobs(1500, 5)
    parts = write_parts(tmp_path / "parts", X, y, 3)
    model = load_model(files.model)
    expected = model.predict(X)
    out = tmp_path / "labels.txt"
    words = ["predict", "--model", files.model, "--data", *parts, "--executor", executor]
    monkeypatch.setattr("distsvm.model.TABLE_BYTES", 1 << 16)
    assert len(model.pieces(model.inputs(parts))) > 1
    said = run(capsys, *words, "--output", out).out
    assert "1,500 predictions" in said
    assert out.read_text() == "".join(f"{label}\n" for label in expected)
    assert run(capsys, *words, "--output", "-").out == out.read_text()


def test_few_shards_are_in_memory_at_a_time(files):
    loaded = []

    class Spec:
        def __init__(self, spec, number):
            self.spec, self.number = spec, number

        def load(self):
            loaded.append(self.number)
            return self.spec.load()

    pieces = [Spec(s, i) for i, s in enumerate(TableData(files.X).specs(8))]
    place = {"executor": "serial"}
    results = over_pieces(_predict, load_model(files.model), pieces, place, Output(quiet=True))
    next(results)
    assert loaded == [0]
    assert len(list(results)) == 7


def _predict(worker, w):
    return worker.predict(w)


def test_a_failed_prediction_leaves_the_old_file(files, capsys, tmp_path):
    X, y = blobs(800, 5)
    good, bad = write_parts(tmp_path, X, y, 2)
    with open(bad, "a") as file:
        file.write("1 1:x\n")
    out = tmp_path / "labels.txt"
    out.write_text("old\n")
    words = ["--model", files.model, "--data", good, bad, "--executor", "serial"]
    err = run(capsys, "predict", *words, "--output", out, code=3).err
    assert "'1:x'" in err
    assert out.read_text() == "old\n"
    assert not list(out.parent.glob(".*.part"))


def test_small_data_may_be_given_more_workers_than_it_can_use(files, capsys):
    words = ["--model", files.model, "--data", files.test, "--executor", "threads"]
    out = run(capsys, "predict", *words, "--workers", "2", "--output", "-").out
    model = load_model(files.model)
    assert out.split() == [str(label) for label in model.predict(files.X_test, n_workers=2)]


def test_scores_are_the_decision_values(files, capsys):
    words = ["predict", "--model", files.model, "--data", files.test, "--scores", "--output", "-"]
    head, *lines = run(capsys, *words).out.splitlines()
    assert head.split("\t") == ["label", "1", "2", "3"]
    table = np.array([line.split("\t") for line in lines], dtype=float)
    model = load_model(files.model)
    V, bias = model.task.weights(model.w)
    assert np.allclose(table[:, 1:], files.X_test @ V + bias)
    assert np.array_equal(table[:, 0], model.predict(files.X_test))


def test_labels_of_data_for_prediction_do_not_matter(files, capsys, tmp_path):
    strange = tmp_path / "strange.svm"
    write_svmlight(strange, files.X_test, np.full(len(files.y_test), 77))
    outputs = [
        run(capsys, "predict", "--model", files.model, "--data", path, "--output", "-").out
        for path in (files.test, strange)
    ]
    assert outputs[0] == outputs[1] != ""


# --- evaluate ------------------------------------------------------------------------------


def test_evaluate_counts_what_numpy_counts(files, capsys):
    words = ["evaluate", "--model", files.model, "--data", files.test]
    (told,) = objects(run(capsys, *words, "--json").out)
    predicted = load_model(files.model).predict(files.X_test)
    confusion = np.array(
        [[np.sum((files.y_test == t) & (predicted == p)) for p in (1, 2, 3)] for t in (1, 2, 3)]
    )
    assert np.array_equal(told["confusion"], confusion)
    assert told["n_examples"] == 90
    assert told["accuracy"] == pytest.approx((predicted == files.y_test).mean())
    assert told["mean_loss"] == pytest.approx((predicted != files.y_test).mean())
    first = told["by_class"][0]
    assert first["precision"] == pytest.approx(confusion[0, 0] / confusion[:, 0].sum())
    assert first["recall"] == pytest.approx(confusion[0, 0] / confusion[0].sum())
    text = run(capsys, *words).out
    assert f"accuracy     {told['accuracy']:.4f}" in text
    assert "true \\ predicted" in text


def test_evaluate_many_classes_without_a_table_of_all_pairs(capsys, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(250), 2)
    write_svmlight(tmp_path / "many.svm", rng.normal(size=(500, 5)), y)
    data = ["--data", tmp_path / "many.svm"]
    run(capsys, *train_args(tmp_path / "many.svm", "--model", tmp_path / "m", "--max-rounds", "2"),
        code=7)  # fmt: skip
    (told,) = objects(run(capsys, "evaluate", "--model", tmp_path / "m", *data, "--json").out)
    assert "confusion" not in told
    predicted = load_model(tmp_path / "m").predict([str(tmp_path / "many.svm")])
    assert told["accuracy"] == pytest.approx((predicted == y).mean())
    assert sum(row["n_examples"] for row in told["by_class"]) == 500


# --- inspect -------------------------------------------------------------------------------


def test_inspect_a_model_names_its_strongest_features(files, capsys, tmp_path):
    names = tmp_path / "names"
    names.write_text("".join(f"feature-{j}\n" for j in range(10)))
    (told,) = objects(run(capsys, "inspect", files.model, "--json", "--top", "1").out)
    assert (told["kind"], told["task"], told["classes"]) == ("model", "multiclass", [1, 2, 3])
    # Class c has its mean at column c, which the file counts as c + 1.
    assert [c["for"][0][0] for c in told["top_features"]] == [2, 3, 4]
    out = run(capsys, "inspect", files.model, "--top", "2", "--names", names).out
    for part in ("model", "multiclass", "1, 2, 3", "10 and an intercept", "exact", "class 1",
                 "for      feature-1 +", "against"):  # fmt: skip
        assert part in out
    names.write_text("too\nfew\n")
    assert "2 lines" in run(capsys, "inspect", files.model, "--names", names, code=2).err


def test_inspect_a_run_and_its_checkpoint(files, capsys, tmp_path):
    folder = tmp_path / "r"
    run(capsys, *train_args(files.train, "--run-dir", folder, "--max-rounds", "3"), code=7)
    out = run(capsys, "inspect", folder).out
    for part in ("run", "stopped", "ago: the limit of rounds", "multiclass", files.train,
                 "max_rounds=3", "round-00000003", "gap"):  # fmt: skip
        assert part in out
    (told,) = objects(run(capsys, "inspect", folder, "--json").out)
    assert (told["state"], told["stop_reason"]) == ("stopped", "max_rounds")
    assert told["last_round"]["number"] == 3
    (folder / "result.json").unlink()
    (folder / "state.json").unlink()
    assert "lost: at an unknown place" in run(capsys, "inspect", folder).out
    checkpoint = folder / "checkpoints" / "round-00000003"
    (told,) = objects(run(capsys, "inspect", checkpoint, "--json").out)
    assert (told["kind"], told["number"], told["round"]["number"]) == ("checkpoint", 3, 3)
    assert "after round" in run(capsys, "inspect", checkpoint).out
    (checkpoint / "driver.npz").write_bytes(b"x")
    run(capsys, "inspect", checkpoint, code=6)


def test_a_binary_model_has_one_list_of_features(capsys, tmp_path):
    X, y = blobs(200, 0)
    write_svmlight(tmp_path / "b.svm", X[y < 3], y[y < 3])
    words = ["--task", "binary", "--data", tmp_path / "b.svm", "--model", tmp_path / "m"]
    run(capsys, "train", *words, "--executor", "serial")
    (told,) = objects(run(capsys, "inspect", tmp_path / "m", "--json", "--top", "1").out)
    (only,) = told["top_features"]
    assert (only["label"], only["for"][0][0], only["against"][0][0]) == (2, 3, 2)


# --- report and demo -----------------------------------------------------------------------


def test_report_writes_a_page(files, capsys, tmp_path):
    folder = tmp_path / "r"
    run(capsys, *train_args(files.train, "--run-dir", folder))
    assert run(capsys, "report", folder).out.strip() == str(folder / "report.html")
    page = tmp_path / "page.html"
    run(capsys, "report", folder, "--output", page)
    assert "<html" in page.read_text()[:500].lower()


def test_the_demo_proves_itself(capsys, tmp_path):
    out = run(capsys, "demo", "--keep", tmp_path / "kept", "--executor", "threads").out
    for part in ("digits", "exact", "in NumPy", "agrees", "LinearSVC", "truly", "distsvm inspect"):
        assert part in out
    assert load_model(tmp_path / "kept" / "model").task.labels.size == 10
    *_, result, check = objects(run(capsys, "demo", "--json").out)
    assert result["stop_reason"] == "eps"
    assert check["agrees"]
    assert check["test_accuracy"] >= check["linear_svc"]
