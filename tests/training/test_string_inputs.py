"""Inputs that are strings, such as DNA: a list of them with outputs never names files."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from run_examples import StopAfter

import distsvm
from distsvm import StructuralSVM, Task, train
from distsvm.cli import main
from distsvm.errors import ConfigError

CONFIG = {"C": 10.0, "eps": 0.001, "executor": "serial"}


@dataclass(frozen=True)
class Richness(Task):
    """Whether a DNA sequence is rich in G and C: "rich" or "poor"."""

    dim: int = 8

    def joint_features(self, x, y):
        counts = np.array([x.count(base) for base in "ACGT"])
        return np.concatenate([counts * (y == "rich"), counts * (y == "poor")])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, w, x):
        return max(("rich", "poor"), key=lambda y: w @ self.joint_features(x, y))

    def separate(self, w, x, y, rescaling):
        def value(other):
            return self.loss(y, other) + w @ self.joint_features(x, other)

        return max(("rich", "poor"), key=value)


RNG = np.random.default_rng(0)
INPUTS = ["".join(RNG.choice(list("ACGT"), 9)) for _ in range(40)]
OUTPUTS = ["rich" if sum(map(x.count, "GC")) > 4 else "poor" for x in INPUTS]


@pytest.fixture(scope="module")
def model():
    return train(Richness(), INPUTS, OUTPUTS, **CONFIG).model


def test_strings_are_predicted_evaluated_and_estimated_as_inputs(model):
    found = model.predict(INPUTS)
    assert found == OUTPUTS
    assert model.predict(np.array(INPUTS)) == found
    assert model.predict(tuple(INPUTS[:2])) == found[:2]
    assert model.evaluate(INPUTS, OUTPUTS).accuracy == 1
    assert model.evaluate((INPUTS, OUTPUTS)).accuracy == 1
    estimator = StructuralSVM(Richness(), C=10.0, executor="serial").fit(INPUTS, OUTPUTS)
    assert estimator.predict(INPUTS) == OUTPUTS
    assert estimator.model_.predict(INPUTS) == OUTPUTS


def test_a_path_over_C_takes_strings_as_inputs():
    for given in ((INPUTS, OUTPUTS), ((INPUTS, OUTPUTS),)):
        found = distsvm.path(Richness(), *given, Cs=[1.0, 10.0], cv=2, executor="serial")
        assert found.model.predict(INPUTS[:3]) == OUTPUTS[:3]


@pytest.mark.parametrize("given", [(INPUTS, OUTPUTS), ((INPUTS, OUTPUTS),)], ids=["apart", "tuple"])
def test_a_run_on_strings_notes_data_in_memory_and_resumes_with_the_same_data(tmp_path, given):
    run = tmp_path / "run"
    train(Richness(), *given, run_dir=run, callbacks=[StopAfter(2)], **CONFIG)
    noted = json.loads((run / "run.json").read_text())
    assert noted["data"]["paths"] is None
    assert INPUTS[0] not in (run / "run.json").read_text()
    assert main(["inspect", str(run)]) == 0
    with pytest.raises(ConfigError, match="in memory"):
        distsvm.resume(run, task=Richness)
    again = train(Richness(), *given, run_dir=run, resume=True, **CONFIG)
    whole = train(Richness(), *given, **CONFIG)
    assert np.array_equal(again.model.w, whole.model.w)
    assert again.model.predict(INPUTS) == OUTPUTS


def test_files_of_strings_are_named_by_one_str_by_paths_or_by_open_data(tmp_path, model):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, rows in zip(files, (slice(20), slice(20, 40)), strict=True):
        pairs = zip(INPUTS[rows], OUTPUTS[rows], strict=True)
        file.write_text("".join(json.dumps({"x": x, "y": y}) + "\n" for x, y in pairs))
    trained = train(Richness(), [str(file) for file in files], **CONFIG).model
    assert np.allclose(trained.w, model.w)
    assert trained.predict(str(tmp_path / "*.jsonl")) == OUTPUTS
    assert trained.predict(files) == OUTPUTS
    assert (
        trained.predict(distsvm.open_data([str(file) for file in files], tables=False)) == OUTPUTS
    )
    assert trained.evaluate([Path(file) for file in files]).accuracy == 1
    assert trained.predict(INPUTS) == OUTPUTS
