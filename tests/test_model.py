"""Models in files: what is written can be read, for good; what cannot be trusted is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from distsvm import MulticlassTask, load_model, train
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ModelError

SAVED = Path(__file__).parent / "saved"


@pytest.fixture
def folder(tmp_path):
    X, y = make_multiclass(60, 4, 3, noise=0.3, seed=0)
    train(MulticlassTask(), (X, y), executor="serial").model.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_of_format_1_still_loads_and_predicts():
    model = load_model(SAVED / "model-format-1")
    X = np.array([[4, 3, 2], [1, 1, 0], [0, 0, 0], [4, 3, 4], [2, 3, 3]], dtype=float)
    assert model.predict(X).tolist() == ["emu", "cat", "cat", "emu", "dog"]
    assert model.task.class_weight == {"cat": 2.0}
    assert model.facts["certificate"] == "exact"


def test_labels_scaler_and_costs_survive(tmp_path):
    X, y = make_multiclass(80, 4, 3, noise=0.3, seed=0)
    names = np.array(["a", "bb", "ccc"])[y]
    costs = np.array([[0, 1, 2], [1, 0, 1], [3, 1, 0.0]])
    task = MulticlassTask(losses=costs, scale=True, class_weight="balanced", intercept_scaling=2.0)
    model = train(task, (X, names), executor="serial").model
    model.save(tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.task.loss_matrix(), costs)
    assert back.evaluate(X, names).mean_loss == model.evaluate(X, names).mean_loss


def test_saving_again_replaces_the_model_and_leaves_nothing_else(folder):
    beside = folder.with_name("model.old")
    beside.mkdir()
    model = load_model(folder)
    model.save(folder)
    assert {p.name for p in folder.parent.iterdir()} == {"model", "model.old"}
    assert np.array_equal(load_model(folder).w, model.w)


def test_saving_never_takes_the_place_of_anything_else(folder, tmp_path):
    model = load_model(folder)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("all of it")
    with pytest.raises(ModelError, match="something other than a model"):
        model.save(tmp_path / "precious")
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "all of it"
    with pytest.raises(ModelError, match="is a file"):
        model.save(tmp_path / "precious" / "thesis.tex")


def edit(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def flip(folder):
    path = folder / "arrays.npz"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda f: edit(f, format=2), "format 2"),
        (lambda f: edit(f, kind="else"), "does not hold a model"),
        (lambda f: edit(f, task="my.Task"), "pass its class"),
        (lambda f: edit(f, fields={"colour": 1}), "colour"),
        (lambda f: edit(f, digest="0"), "damaged"),
        (flip, "damaged"),
        (lambda f: (f / "arrays.npz").write_bytes(b"PK"), "damaged"),
        (lambda f: (f / "arrays.npz").unlink(), "does not exist"),
        (lambda f: (f / "manifest.json").write_text("[]"), "does not hold a model"),
        (lambda f: (f / "manifest.json").write_text('{"kind": '), "damaged"),
        (lambda f: (f / "manifest.json").unlink(), "does not exist"),
        (lambda f: shutil.rmtree(f), "does not exist"),
    ],
)
def test_a_model_that_cannot_be_trusted_is_refused(folder, harm, message):
    harm(folder)
    with pytest.raises(ModelError, match=message):
        load_model(folder)
