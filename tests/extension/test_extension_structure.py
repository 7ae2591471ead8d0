"""A structure of another package: its search, and every solver on it, against enumeration."""

from dataclasses import dataclass

import numpy as np
import pytest
from distsvm_example.rings.estimator import RingLabeller
from distsvm_example.rings.files import write_rings
from distsvm_example.rings.task import RingTask
from extension_problems import D, labellings, make_rings
from sklearn.base import clone

import distsvm
from distsvm import registry
from distsvm.errors import DataError, ModelError
from distsvm.testing import check_task


@dataclass(frozen=True)
class ListedRings(distsvm.Task):
    """Rings once more, in plain Python: every search looks at all labellings."""

    dim: int = D + 2

    def joint_features(self, x, y):
        y = np.array(y)
        return np.array([*(y @ x), y.sum(), (y == np.roll(y, -1)).sum()], dtype=float)

    def loss(self, y, y_hat):
        return float(np.mean(np.array(y) != np.array(y_hat)))

    def decode(self, w, x):
        return max(labellings(x), key=lambda y: w @ self.joint_features(x, y))

    def separate(self, w, x, y, rescaling):
        return max(
            labellings(x), key=lambda found: self.loss(y, found) + w @ self.joint_features(x, found)
        )


def test_the_registry_finds_the_structure_and_knows_its_task_by_name_and_by_class():
    assert registry.structures()["rings"].title == "rings"
    assert registry.task_classes()["ring"] is RingTask
    assert registry.structure_of(RingTask()).name == "rings"


def test_the_task_holds_what_a_task_promises():
    examples = list(zip(*make_rings(12), strict=True))
    check_task(RingTask(n_features=D), examples, outputs=labellings, n_points=3)


def test_psi_loss_and_search_are_those_of_enumeration():
    compiled, listed = RingTask(n_features=D), ListedRings()
    rng = np.random.default_rng(1)
    for x, y in zip(*make_rings(20, longest=7, seed=1), strict=True):
        w = rng.normal(size=D + 2)
        for found in (y, compiled.decode(w, x), compiled.separate(w, x, y, "margin")):
            assert np.allclose(compiled.joint_features(x, found), listed.joint_features(x, found))
            assert compiled.loss(y, found) == pytest.approx(listed.loss(y, found))
        assert compiled.decode(w, x) == listed.decode(w, x)
        assert compiled.separate(w, x, y, "margin") == listed.separate(w, x, y, "margin")


def test_of_equal_labellings_the_lowest_is_found():
    task, x = RingTask(n_features=D), np.zeros((4, D))
    assert task.decode(np.zeros(D + 2), x) == [0, 0, 0, 0]
    assert task.decode(np.array([0, 0, 0, 0, -1.0]), x) == [0, 1, 0, 1]


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack", "frank-wolfe"])
def test_every_solver_encloses_the_optimum_that_enumeration_has(solver):
    inputs, outputs = make_rings(25, longest=5)
    best = distsvm.train(
        ListedRings(), inputs, outputs, C=5, eps=1e-7, executor="serial", solver="one-slack"
    )
    eps = 0.05 if solver == "frank-wolfe" else 1e-4
    found = distsvm.train(
        RingTask(), inputs, outputs, C=5, eps=eps, executor="serial", solver=solver
    )
    assert (found.stop_reason, found.certificate) == ("eps", "exact")
    assert found.dual <= best.primal + 1e-9
    assert found.primal >= best.dual - 1e-9
    assert found.gap <= 5 * eps


def test_files_give_the_bits_that_the_same_rings_in_memory_give(tmp_path):
    inputs, outputs = make_rings(40)
    write_rings(tmp_path / "train.rings", inputs, outputs)
    config = {"C": 5, "eps": 0.01, "executor": "serial", "n_shards": 1}
    memory = distsvm.train(RingTask(), inputs, outputs, **config)
    files = distsvm.train(RingTask(), str(tmp_path / "train.rings"), **config)
    assert np.array_equal(memory.model.w, files.model.w)


def test_labels_that_are_not_known_can_be_predicted_and_not_trained_on(tmp_path):
    path = tmp_path / "new.rings"
    path.write_text("# a comment\n? 1 2 | ? 3 4\n")
    task = RingTask(n_features=2)
    model = distsvm.Model(task, np.array([1.0, 0, 0, 0]), {})
    assert model.predict(str(path), executor="serial") == [[1, 1]]
    with pytest.raises(DataError, match=r"line 2.*expected 2 of 0 and 1"):
        distsvm.train(RingTask(), str(path), C=1, executor="serial")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 | 0", "line 1: no ring"),
        ("1 x", "line 1: no ring"),
        ("1", "the sites have no features"),
    ],
)
def test_what_is_no_ring_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad.rings"
    path.write_text(text + "\n")
    with pytest.raises(DataError, match=message):
        distsvm.train(RingTask(), str(path), C=1, executor="serial")


def test_a_saved_model_is_checked_and_has_no_pickle(tmp_path):
    model = distsvm.Model(RingTask(n_features=2), np.ones(4), {})
    model.save(tmp_path / "model")
    assert distsvm.load_model(tmp_path / "model").predict([np.ones((3, 2))]) == [[1, 1, 1]]
    manifest = tmp_path / "model" / "manifest.json"
    text = manifest.read_text()
    assert '"n_features": 2' in text
    manifest.write_text(text.replace('"n_features": 2', '"n_features": 0'))
    with pytest.raises(ModelError, match="n_features is 0"):
        distsvm.load_model(tmp_path / "model")


def test_pieces_of_limited_memory_give_the_bits_of_all_in_memory(tmp_path):
    write_rings(tmp_path / "train.rings", *make_rings(700, longest=3))
    config = {"C": 5, "eps": 0.05, "executor": "serial", "n_shards": 1, "solver": "one-slack",
              "cache_size": 0}  # fmt: skip
    whole = distsvm.train(RingTask(), str(tmp_path / "train.rings"), **config)
    pieces = distsvm.train(
        RingTask(), str(tmp_path / "train.rings"), worker_memory_mb=150,
        cache_dir=tmp_path / "cache", **config,
    )  # fmt: skip
    assert np.array_equal(whole.model.w, pieces.model.w)


def test_the_estimator_fits_scores_and_clones(tmp_path):
    inputs, outputs = make_rings(60)
    estimator = RingLabeller(C=20, eps=0.01, executor="serial", loss_scale=2.0)
    fitted = clone(estimator).fit(inputs, outputs)
    assert fitted.task_.loss_scale == 2.0
    predicted = fitted.predict(inputs)
    right = [np.mean(np.array(a) == b) for a, b in zip(predicted, outputs, strict=True)]
    sites = [len(y) for y in outputs]
    assert fitted.score(inputs, outputs) == pytest.approx(np.average(right, weights=sites))
    assert fitted.score(inputs, outputs) > 0.7
    write_rings(tmp_path / "train.rings", inputs, outputs)
    assert fitted.predict(str(tmp_path / "train.rings")) == predicted
