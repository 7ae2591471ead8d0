"""Run folders: history, checkpoints, resuming with the same bits, and what is refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from test_same_bits import history
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm import Callback, MulticlassTask, load_model, resume, train
from distsvm.data.synthetic import make_multiclass, write_parts
from distsvm.errors import CheckpointError, ConfigError
from distsvm.training.checkpoint import latest_checkpoint
from distsvm.training.run_folder import RunFolder

INPUTS, OUTPUTS = toy_chains(n=60)
CONFIG = {"C": 20.0, "eps": 1e-4, "executor": "serial", "n_shards": 5}


def go(run_dir, task=None, inputs=INPUTS, outputs=OUTPUTS, **more):
    return train(task or ToyChain(), inputs, outputs, run_dir=str(run_dir), **CONFIG | more)


class StopAfter(Callback):
    """Asks to stop after a given round, as Ctrl-C does."""

    def __init__(self, number):
        self.number = number

    def on_round(self, record):
        return record.number == self.number


@pytest.mark.parametrize("cut", [1, 2, 7, 20])
@pytest.mark.parametrize(
    "road",
    [
        {},
        {"refresh_fraction": 0.3},
        {"cache_size": 0},
        {"n_blocks": 2},
        {"solver": "multi-plane"},
        {"solver": "multi-plane", "ask_share": 1.0, "rescaling": "slack"},
    ],
)
def test_a_resumed_run_has_the_bits_of_one_never_stopped(tmp_path, cut, road):
    whole = go(tmp_path / "whole", **road)
    part = go(tmp_path / "part", callbacks=[StopAfter(cut)], **road)
    assert part.stop_reason == "interrupted"
    assert part.n_rounds == cut
    result = go(tmp_path / "part", resume=True, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)
    assert [r.as_dict() for r in RunFolder(tmp_path / "part").history()] == [
        r.as_dict() for r in result.history
    ]


def test_a_run_may_go_on_with_another_executor_and_another_limit(tmp_path):
    whole = go(tmp_path / "whole")
    go(tmp_path / "part", max_rounds=5)
    result = go(tmp_path / "part", resume=True, executor="threads", n_workers=2)
    # Round 5 was made to certify, so only the optimum is the same, not the bits.
    assert result.gap <= whole.C * 1e-4
    assert result.n_rounds > 5


def test_a_finished_run_resumed_is_finished(tmp_path):
    first = go(tmp_path / "run")
    again = go(tmp_path / "run", resume=True)
    assert again.n_rounds == first.n_rounds
    assert again.stop_reason == "eps"
    assert np.array_equal(again.model.w, first.model.w)


def test_a_smaller_eps_goes_on_from_where_the_run_ended(tmp_path):
    first = go(tmp_path / "run", eps=0.01)
    again = go(tmp_path / "run", resume=True, eps=1e-4)
    assert again.n_rounds > first.n_rounds
    assert again.gap <= 1e-4 * again.C


def test_lost_planes_cost_time_and_not_the_optimum(tmp_path, caplog):
    go(tmp_path / "run", callbacks=[StopAfter(8)])
    for path in latest_checkpoint(tmp_path / "run").folder.glob("planes-*"):
        path.unlink()
    result = go(tmp_path / "run", resume=True)
    assert result.stop_reason == "eps"
    tight = go(tmp_path / "tight", eps=1e-7)
    assert result.dual <= tight.primal
    assert tight.dual <= result.primal <= tight.dual + 2 * result.C * 1e-4
    note = "resumed without the planes of 5 shards"
    assert [record.note for record in result.history] == [None] * 8 + [note] + [None] * (
        result.n_rounds - 9
    )
    assert note in caplog.text


def swapped(folder):
    shutil.copy(folder / "planes-00000.npz", folder / "planes-00001.npz")


def inflated(folder):
    path = folder / "planes-00002.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["loss"] = 3 * arrays["loss"]
    np.savez(path, **arrays)


@pytest.mark.parametrize("harm", [swapped, inflated])
def test_planes_that_are_not_the_shards_own_are_refused(tmp_path, harm):
    go(tmp_path / "run", callbacks=[StopAfter(8)])
    harm(latest_checkpoint(tmp_path / "run").folder)
    with pytest.raises(CheckpointError, match="damaged"):
        go(tmp_path / "run", resume=True)


def test_the_folder_holds_what_the_result_says(tmp_path):
    result = go(tmp_path / "run")
    names = {p.name for p in (tmp_path / "run").iterdir()}
    assert names == {
        "data.json", "run.json", "history.jsonl", "checkpoints", "model", "result.json",
        "state.json",
    }  # fmt: skip
    told = json.loads((tmp_path / "run" / "result.json").read_text())
    assert told["gap"] == result.gap
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert len(lines) == result.n_rounds
    assert json.loads(lines[-1])["dual"] == result.dual
    model = load_model(tmp_path / "run" / "model", task=ToyChain)
    assert np.array_equal(model.w, result.model.w)


def test_old_checkpoints_go_and_no_pickle_is_written(tmp_path):
    go(tmp_path / "run", checkpoint_rounds=3, keep_checkpoints=2)
    folders = sorted((tmp_path / "run" / "checkpoints").iterdir())
    assert len(folders) == 2
    for path in (tmp_path / "run").rglob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            assert all(file[name].dtype != object for name in file)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    go(tmp_path / "run")
    with pytest.raises(ConfigError, match="holds a run already"):
        go(tmp_path / "run")


def damaged(folder):
    path = folder / "driver.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def truncated(folder):
    path = folder / "driver.npz"
    path.write_bytes(path.read_bytes()[:100])


def unreadable(folder):
    (folder / "manifest.json").write_text("{")


def newer(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))


def foreign(folder):
    (folder / "manifest.json").write_text('{"kind": "something else"}')


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damaged, "damaged"),
        (truncated, "damaged"),
        (unreadable, "damaged"),
        (newer, "format 99"),
        (foreign, "does not hold a checkpoint"),
    ],
)
def test_a_checkpoint_that_cannot_be_trusted_is_refused(tmp_path, harm, message):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    harm(latest_checkpoint(tmp_path / "run").folder)
    before = sorted(p.name for p in (tmp_path / "run").rglob("*"))
    with pytest.raises(CheckpointError, match=message):
        go(tmp_path / "run", resume=True)
    assert sorted(p.name for p in (tmp_path / "run").rglob("*")) == before  # nothing is lost


def test_another_problem_is_refused(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=INPUTS[::-1], outputs=OUTPUTS[::-1], resume=True)
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", weight=np.arange(1.0, 61), resume=True)
    with pytest.raises(CheckpointError, match="another task"):
        go(tmp_path / "run", task=ToyChain(n_labels=3), resume=True)
    with pytest.raises(CheckpointError, match=r"C=20\.0"):
        go(tmp_path / "run", C=21.0, resume=True)
    with pytest.raises(CheckpointError, match="does not exist"):
        go(tmp_path / "nothing", resume=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints")  # and before the first checkpoint
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=INPUTS[::-1], outputs=OUTPUTS[::-1], resume=True)
    with pytest.raises(CheckpointError, match=r"C=20\.0"):
        go(tmp_path / "run", C=21.0, resume=True)
    assert go(tmp_path / "run", resume=True).stop_reason == "eps"
    with pytest.raises(ConfigError, match="needs run_dir"):
        train(ToyChain(), INPUTS, OUTPUTS, resume=True, **CONFIG)


def test_a_crash_while_writing_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    good = latest_checkpoint(tmp_path / "run")
    # What a kill in the middle leaves behind: a folder aside, and half a line of history.
    shutil.copytree(good.folder, good.folder.with_name("round-00000009.part"))
    with open(tmp_path / "run" / "history.jsonl", "a") as file:
        file.write('{"number": 6, "kin')
    assert latest_checkpoint(tmp_path / "run").number == 5
    result = go(tmp_path / "run", resume=True)
    assert history(result) == history(go(tmp_path / "whole"))


def test_a_kill_in_a_checkpoint_leaves_nothing_for_good(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    left = tmp_path / "run" / "checkpoints" / ".round-00000006-abc.part"
    left.mkdir()
    go(tmp_path / "run", resume=True)
    assert not left.exists()


def test_a_history_that_does_not_reach_the_checkpoint_is_refused(tmp_path):
    go(tmp_path / "run", callbacks=[StopAfter(5)])
    path = tmp_path / "run" / "history.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(CheckpointError, match="3 of the 5 rounds"):
        go(tmp_path / "run", resume=True)


class Row:
    """An input that JSON cannot hold, and whose repr says nothing of its value."""

    def __init__(self, symbols):
        self.symbols = symbols

    def __iter__(self):
        return iter(self.symbols)

    def __len__(self):
        return len(self.symbols)


def test_inputs_of_any_class_are_told_apart_by_their_value(tmp_path):
    rows = [Row(x) for x in INPUTS]
    go(tmp_path / "run", inputs=rows, callbacks=[StopAfter(3)])
    with pytest.raises(CheckpointError, match="other data"):
        go(tmp_path / "run", inputs=[Row(x[::-1]) for x in INPUTS], resume=True)
    again = go(tmp_path / "run", inputs=[Row(x) for x in INPUTS], resume=True)
    assert again.stop_reason == "eps"


def test_a_start_is_not_forgotten_before_the_first_checkpoint(tmp_path):
    first = go(tmp_path / "first", eps=0.01)
    whole = go(tmp_path / "whole", start=first.model)

    class Dies(Callback):
        def on_round(self, record):
            raise RuntimeError("as if killed")

    with pytest.raises(RuntimeError):
        go(tmp_path / "part", start=first.model, callbacks=[Dies()])
    result = go(tmp_path / "part", resume=True)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


def test_values_too_large_for_numbers_are_an_error_and_no_certificate():
    for change in ({"weight": np.full(60, 1e307)}, {"C": 1e308}):
        with pytest.raises(distsvm.DistSVMError, match=r"too large|not finite"):
            train(ToyChain(), INPUTS, OUTPUTS, executor="serial", **change)


def test_a_run_folder_that_cannot_be_is_said_before_the_data_is_read(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be made"):
        train(ToyChain(), object(), run_dir=tmp_path / "file" / "run")


def test_a_run_on_files_is_resumed_by_its_folder_alone(tmp_path):
    X, y = make_multiclass(300, 6, 3, noise=0.3, seed=0)
    write_parts(tmp_path / "data", X, y, 3, "svmlight")
    config = {"C": 50.0, "eps": 1e-3, "executor": "serial", "n_shards": 4}
    data = str(tmp_path / "data")
    whole = train(MulticlassTask(), data, run_dir=str(tmp_path / "whole"), **config)
    train(
        MulticlassTask(), data, run_dir=str(tmp_path / "part"), callbacks=[StopAfter(6)], **config
    )
    result = resume(tmp_path / "part", executor="threads", n_workers=2)
    assert np.array_equal(result.model.w, whole.model.w)
    with pytest.raises(ConfigError, match="C cannot change"):
        resume(tmp_path / "part", C=3.0)
    go(tmp_path / "memory")
    with pytest.raises(ConfigError, match="data in memory"):
        resume(tmp_path / "memory", task=ToyChain)
    mixed = tmp_path / "mixed"
    train(MulticlassTask(), data, validation=(X, y), run_dir=mixed, max_rounds=2, **config)
    with pytest.raises(ConfigError, match="validation data in memory"):
        resume(mixed)
    with pytest.raises(CheckpointError, match="other validation data"):
        train(MulticlassTask(), data, run_dir=mixed, resume=True, **config)


def test_validation_stops_early_and_gives_the_best_w_there(tmp_path):
    rng = np.random.default_rng(0)
    X, y = make_multiclass(300, 60, 3, noise=0.1, seed=0)
    flipped = np.where(rng.random(300) < 0.3, (y + 1) % 3, y)
    task = MulticlassTask()
    config = {"C": 1e5, "eps": 1e-4, "executor": "serial", "patience": 5}
    result = train(task, (X[:150], flipped[:150]), validation=(X[150:], y[150:]), **config)
    assert result.stop_reason == "validation"
    curve = [r.validation_loss for r in result.history]
    assert result.best_validation["loss"] == min(curve)
    score = result.model.evaluate(X[150:], y[150:])
    assert np.isclose(score.mean_loss, min(curve))
    # Primal and gap are those of that w, recomputed from the definition.
    scores = X[:150] @ result.model.task.weights(result.model.w)[0]
    scores = scores + result.model.task.weights(result.model.w)[1]
    hinge = (scores + 1 - np.eye(3)[flipped[:150]]).max(1) - scores[np.arange(150), flipped[:150]]
    own = 0.5 * result.model.w @ result.model.w + 1e5 * hinge.mean()
    assert np.isclose(own, result.primal)
    part = tmp_path / "part"
    kinds = {"validation": (X[150:], y[150:]), "run_dir": str(part)}
    train(task, (X[:150], flipped[:150]), callbacks=[StopAfter(3)], **kinds, **config)
    again = train(task, (X[:150], flipped[:150]), resume=True, **kinds, **config)
    assert np.array_equal(again.model.w, result.model.w)
    assert again.best_validation == result.best_validation
    assert history(again) == history(result)


def test_training_starts_from_a_model_or_a_run_also_with_more_data(tmp_path):
    X, y = make_multiclass(600, 8, 4, noise=0.3, seed=0)
    config = {"C": 100.0, "eps": 1e-3, "executor": "serial"}
    first = train(MulticlassTask(), (X[:500], y[:500]), run_dir=str(tmp_path / "run"), **config)
    cold = train(MulticlassTask(), (X, y), **config)
    for start in (first.model, tmp_path / "run", str(tmp_path / "run" / "model")):
        warm = train(MulticlassTask(), (X, y), start=start, **config)
        assert warm.history[0].primal < cold.history[0].primal
        assert warm.gap <= 100.0 * 1e-3
        assert np.isclose(warm.primal, cold.primal, rtol=5e-3)
    with pytest.raises(ConfigError, match="8 features"):
        train(MulticlassTask(), (X[:, :5], y), start=first.model, **config)


def test_a_loaded_model_of_any_task_predicts_the_same(tmp_path):
    result = go(tmp_path / "run", max_rounds=4)
    result.model.save(tmp_path / "model")
    with pytest.raises(distsvm.errors.ModelError, match="pass its class"):
        load_model(tmp_path / "model")
    model = load_model(tmp_path / "model", task=ToyChain)
    assert model.predict(INPUTS) == result.model.predict(INPUTS)
    assert model.facts["gap"] == result.gap


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, "C=0"), ({"C": float("nan")}, "C=nan"), ({"C": "big"}, "C='big'"),
        ({"C": 1.0, "C_per_example": 1.0}, "both"), ({"eps": -1}, "eps=-1"),
        ({"max_rounds": 0}, "max_rounds"), ({"max_rounds": 2.5}, "max_rounds"),
        ({"rescaling": "none"}, "margin, slack"), ({"solver": "x"}, "one-slack"),
        ({"executor": "x"}, "serial"), ({"n_workers": 0}, "n_workers"),
        ({"cache_size": -1}, "cache_size"),
        ({"stabilise": 0}, "stabilise"), ({"refresh_fraction": 1.5}, "refresh_fraction"),
        ({"n_shards": 99}, "n_shards=99"), ({"qp": "magic"}, "qp"), ({"colour": 1}, "colour"),
        ({"max_cuts": 2}, "max_cuts"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(change, message):
    config = {"executor": "serial", "max_rounds": 2} | change
    with pytest.raises(ConfigError, match=message):
        train(ToyChain(), INPUTS, OUTPUTS, **config)


def test_C_per_example_is_C_over_the_weight():
    weight = np.full(60, 0.5)
    result = train(ToyChain(), INPUTS, OUTPUTS, weight=weight, C_per_example=2.0, **{
        k: v for k, v in CONFIG.items() if k != "C"
    })  # fmt: skip
    assert result.C == 60.0


def test_slack_rescaling_is_refused_for_a_task_that_cannot():
    class MarginOnly(ToyChain):
        rescalings = frozenset({"margin"})

    with pytest.raises(ConfigError, match="MarginOnly can do margin"):
        train(MarginOnly(), INPUTS, OUTPUTS, rescaling="slack", **CONFIG)


def test_records_are_frozen_and_callbacks_are_told_everything():
    events = []

    class Watcher(Callback):
        def on_start(self, start):
            events.append(start)

        def on_round(self, record):
            with pytest.raises(AttributeError):
                record.number = 0
            events.append(record)

        def on_end(self, result):
            events.append(result)

    result = train(ToyChain(), INPUTS, OUTPUTS, callbacks=[Watcher()], **CONFIG)
    start, *rounds, end = events
    assert end is result
    assert rounds == result.history
    assert (start.n_examples, start.dim, start.C) == (60, 10, 20.0)
    assert replace(rounds[0], number=2) != rounds[0]
    assert sum(result.seconds.values()) - result.seconds["total"] == pytest.approx(
        result.seconds["total"], rel=0.05
    )
