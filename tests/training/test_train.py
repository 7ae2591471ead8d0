"""What train() takes and tells: parameters, a start, validation data, callbacks."""

import logging
from dataclasses import dataclass, replace

import numpy as np
import pytest
from run_examples import CONFIG, INPUTS, OUTPUTS, StopAfter, history
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm import Callback, MulticlassTask, train
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError, TaskError
from distsvm.testing import check_task


def test_values_too_large_for_numbers_are_an_error_and_no_certificate():
    for change in ({"weight": np.full(60, 1e307)}, {"C": 1e308}):
        with pytest.raises(distsvm.DistSVMError, match=r"too large|not finite"):
            train(ToyChain(), INPUTS, OUTPUTS, executor="serial", **change)


def test_validation_stops_early_and_gives_the_best_w_there(tmp_path):
    rng = np.random.default_rng(0)
    X, y = make_multiclass(300, 60, 3, noise=0.1, seed=0)
    flipped = np.where(rng.random(300) < 0.3, (y + 1) % 3, y)
    task = MulticlassTask()
    config = {"C": 1e5, "eps": 1e-4, "executor": "serial", "patience": 5, "solver": "one-slack"}
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


def test_records_are_frozen_and_callbacks_get_every_event():
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


@dataclass(frozen=True)
class WrongSign(ToyChain):
    """Its search subtracts the loss, so it finds no output that has one at w = 0."""

    rescalings = frozenset({"margin"})

    def separate(self, w, x, y, rescaling):
        return max(self.outputs(x), key=lambda z: self.score(w, x, z) - self.loss(y, z))


def test_a_primal_of_0_at_w_0_warns_and_names_check_task(caplog):
    inputs, outputs = toy_chains(8)
    with caplog.at_level(logging.WARNING):
        result = train(WrongSign(), inputs, outputs, executor="serial")
    assert (result.primal, result.dual) == (0.0, 0.0)
    assert "distsvm.testing.check_task" in caplog.text
    with pytest.raises(TaskError, match=r"separate\(margin\) gives"):
        check_task(WrongSign(), list(zip(inputs, outputs, strict=True)))
    caplog.clear()
    train(ToyChain(), inputs, outputs, executor="serial", eps=0.1)
    assert "check_task" not in caplog.text


@pytest.mark.parametrize(("name", "near"), [("epss", "eps"), ("max_round", "max_rounds")])
def test_an_unknown_parameter_is_refused_with_the_nearest_one(name, near):
    with pytest.raises(ConfigError, match=f"unknown parameter '{name}'; the nearest is '{near}'"):
        train(ToyChain(), INPUTS, OUTPUTS, **{name: 1})
