"""Low-rank maps in a shell: flags, certificate in words, and what is refused."""

import json

import numpy as np
import pytest

from distsvm import SequenceTagger
from distsvm.cli.program import main
from distsvm.data.writers import write_svmlight

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight("train.svmlight", X, Y)
    return ["--task", "binary", "--data", "train.svmlight"]


def test_kernel_with_basis_trains_predicts_and_says_what_is_certified(data, capsys):
    flags = ["--kernel", "rbf", "--gamma", "median", "--basis", "40", "--basis-factor", "cholesky"]
    place = ["--model", "model", "--run-dir", "run", "--executor", "serial", "--C", "500"]
    assert main(["train", *data, *flags, *place]) == 0
    assert "certified for the low-rank problem" in capsys.readouterr().out
    assert main(["evaluate", "--model", "model", "--data", "train.svmlight"]) == 0
    assert main(["inspect", "model"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "low rank: rbf (gamma" in shown
    assert "with 40 basis inputs (random, shared), 40 features; Cholesky's factor, jitter" in shown
    assert "certified for the low-rank problem" in shown
    with open("run/result.json") as file:
        result = json.load(file)
    assert result["map"]["rank"] == 40
    assert result["map"]["kernel"]["gamma"] > 0
    with open("run/report.html") as file:
        assert "certified for the low-rank problem" in file.read()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--basis", "40"], "--basis needs --kernel"),
        (["--kernel", "rbf", "--basis", "151"], "--basis 151"),
        (["--kernel", "rbf", "--basis", "0"], "--basis"),
        (["--kernel", "rbf", "--basis", "9", "--scale"], "--scale"),
    ],
)
def test_what_does_not_fit_is_refused_by_flag(data, capsys, flags, reason):
    assert main(["train", *data, *flags, "--model", "model"]) != 0
    assert reason in " ".join(capsys.readouterr().err.split())


def test_a_tagger_takes_a_kernel_function():
    inputs, outputs = [], []
    for _ in range(30):
        values = RNG.normal(size=(4, 2))
        inputs.append([{"a": float(a), "b": float(b)} for a, b in values])
        outputs.append(["xy"[int(a * b > 0)] for a, b in values])
    settings = {"C": 100.0, "rel_gap": 0.05, "solver": "n-slack"}
    tagger = SequenceTagger(kernel="poly", degree=2, gamma=1.0, basis=30, **settings)
    tagger.fit(inputs, outputs)
    assert tagger.score(inputs, outputs) > 0.95
    assert tagger.result_.certified_for == "the low-rank problem"
    assert SequenceTagger(**settings).fit(inputs, outputs).score(inputs, outputs) < 0.9
