"""--kernel: train, inspect, evaluate and predict with a kernel function."""

import numpy as np
import pytest
from cli_files import train_args

from distsvm.cli import main
from distsvm.model import load_model


def run(capsys, *words, code=0):
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    return capsys.readouterr()


def test_verbs_work_with_a_kernel_function(files, capsys, tmp_path):
    model, own = tmp_path / "m", ("--kernel", "rbf", "--gamma", "0.05", "--C", "100")
    draws = ("--method", "linear-time", "--sample", "40", "--run-dir", tmp_path / "r")
    out = run(capsys, *train_args(files.train, "--model", model, *own, *draws)).out
    assert "exact: dual ≤ optimum ≤ primal" in out
    assert (load_model(model).predict(files.X_test) == files.y_test).mean() > 0.8
    shown = run(capsys, "inspect", model).out
    assert "rbf, gamma 0.05" in shown
    assert "support vectors" in shown
    assert "0.8" in run(capsys, "evaluate", "--model", model, "--data", files.test).out
    words = ("predict", "--model", model, "--data", files.test, "--output", "-")
    labels = np.array(run(capsys, *words).out.split(), float)
    assert np.array_equal(labels, load_model(model).predict(files.X_test))
    assert "with loss" in run(capsys, "inspect", tmp_path / "r").out


def test_an_estimate_is_called_one(files, capsys, tmp_path):
    words = ("--kernel", "rbf", "--gamma", "0.05", "--C", "100", "--method", "constant-time",
             "--sample", "40")  # fmt: skip
    out = run(capsys, *train_args(files.train, "--model", tmp_path / "m", *words)).out
    assert "estimate: dual ≤ optimum" in out
    assert "95%" in out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--gamma", "0.1"), "--kernel"),
        (("--kernel", "rfb"), "--kernel"),
        (("--kernel", "rbf", "--gamma", "0"), "--gamma"),
        (("--kernel", "poly", "--degree", "0"), "--degree"),
        (("--kernel", "rbf", "--sample", "0"), "--sample"),
        (("--kernel", "rbf", "--method", "fast"), "--method"),
        (("--kernel", "rbf", "--scale"), "--scale"),
    ],
)
def test_bad_options_are_named_as_they_are_typed(files, capsys, tmp_path, words, named):
    said = run(capsys, *train_args(files.train, "--model", tmp_path / "m", *words), code=2)
    assert named in said.err
